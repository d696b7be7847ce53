//! Where traces are sent.

use std::ffi::OsString;

use serde::Deserialize;

use super::{AddressError, Error, WebAddress};

/// The variables that name a receiver to every program that speaks OTLP, the nearer one last.
const STANDARD: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];

/// What is told of requests to other systems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Where spans are sent by OTLP over HTTP, without `/v1/traces`; nowhere where it is none.
    pub otlp_endpoint: Option<WebAddress>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    otlp_endpoint: Option<String>,
}

impl Raw {
    pub(super) fn check(self) -> Result<Telemetry, Error> {
        let key = "telemetry.otlp_endpoint";
        let endpoint = self.otlp_endpoint.map(|text| address(key, &text));
        Ok(Telemetry {
            otlp_endpoint: endpoint.transpose()?,
        })
    }
}

impl Telemetry {
    /// Where nothing is configured, the standard variables count.
    pub(super) fn or_standard(self, variables: &[(OsString, OsString)]) -> Result<Self, Error> {
        if self.otlp_endpoint.is_some() {
            return Ok(self);
        }
        let value = |name: &'static str| {
            let found = variables.iter().find(|(known, _)| known == name)?;
            let value = found.1.to_string_lossy().trim().to_owned();
            (!value.is_empty()).then_some((name, value))
        };
        let Some((name, value)) = STANDARD.into_iter().rev().find_map(value) else {
            return Ok(self);
        };
        let base = value.trim_end_matches('/');
        let base = base.strip_suffix("/v1/traces").unwrap_or(base);
        Ok(Self {
            otlp_endpoint: Some(address(name, base)?),
        })
    }
}

fn address(key: &str, text: &str) -> Result<WebAddress, Error> {
    let address = text.parse();
    address.map_err(|error: AddressError| Error::invalid(key, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(own: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let own = Telemetry {
            otlp_endpoint: own.map(|own| own.parse().unwrap()),
        };
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let telemetry = own.or_standard(&variables);
        telemetry
            .map(|it| it.otlp_endpoint.map(|at| at.to_string()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_configured_counts_before_the_standard_variables() {
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:4318/");
        let traces = (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "http://traces:4318/v1/traces",
        );
        let found = |own, variables: &[_]| endpoint(own, variables).unwrap().unwrap_or_default();
        assert_eq!(found(None, &[]), "");
        assert_eq!(found(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), "");
        assert_eq!(found(None, &[general]), "http://general:4318");
        assert_eq!(found(None, &[general, traces]), "http://traces:4318");
        assert_eq!(
            found(Some("http://own:1"), &[general, traces]),
            "http://own:1"
        );
        let error = endpoint(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost")]).unwrap_err();
        assert!(
            error.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT: "),
            "{error}"
        );
    }
}
