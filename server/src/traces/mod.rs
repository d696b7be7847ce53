//! Traces: a span for each request, sent by OTLP to where the configuration says.
//!
//! Spans are made by hand and not from log lines, so that a filter of the log changes nothing
//! and nothing gets into a span by chance: routes and not paths, names of the configuration and
//! not of users, statuses and times. Sending never holds up a request: what ends goes into a
//! bounded queue ([the library's](BatchSpanProcessor), 2,048 spans), and what finds it full is
//! lost.

mod client;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, Request, StatusCode};
use opentelemetry::{
    Context, KeyValue, Value,
    propagation::TextMapPropagator as _,
    trace::{Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{BatchSpanProcessor, SdkTracer, SdkTracerProvider, Span as SdkSpan},
};

use crate::config::WebAddress;
use client::Client;

/// How long the last spans may take to be sent when the process ends.
const LAST_MAX: Duration = Duration::from_secs(3);

/// What follows the endpoint's own path (OTLP over HTTP).
const TRACES: &str = "v1/traces";

/// Where spans go; nowhere unless it is configured. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Traces(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// Spans cannot be sent to where they should be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No certificates to know the receiver by.
    #[error("the system trusts no certificates")]
    Roots(#[source] std::io::Error),
    /// The exporter cannot be made.
    #[error("spans cannot be sent there")]
    Exporter(#[from] ExporterBuildError),
}

/// One request, traced until it is dropped; nothing where nothing is traced.
#[derive(Debug, Default)]
pub struct Span(Option<SdkSpan>);

impl Traces {
    /// Spans go to the OTLP receiver at `endpoint`, by HTTP and protobuf.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn to(endpoint: &WebAddress) -> Result<Self, Error> {
        let address = endpoint.to_string();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(endpoint.is_secure()).map_err(Error::Roots)?)
            .with_endpoint(format!("{}/{TRACES}", address.trim_end_matches('/')))
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).build())
            .with_resource(resource())
            .build();
        let tracer = provider.tracer("spillway");
        Ok(Self(Some(Arc::new(Inner { provider, tracer }))))
    }

    /// Begins the span of a request with these headers: the caller's trace goes on in it.
    #[must_use]
    pub fn begin(&self, name: impl FnOnce() -> String, headers: &HeaderMap) -> Span {
        let span = self.0.as_ref().map(|inner| {
            let parent =
                propagator().extract_with_context(&Context::new(), &HeaderExtractor(headers));
            let builder = inner
                .tracer
                .span_builder(name())
                .with_kind(SpanKind::Server);
            builder.start_with_context(&inner.tracer, &parent)
        });
        Span(span)
    }

    /// Begins the span of a request for `route`, as the router knows it: its path is never told.
    #[must_use]
    pub fn request<B>(&self, route: Option<&str>, request: &Request<B>) -> Span {
        if self.0.is_none() {
            return Span::default();
        }
        let method = request.method().as_str();
        let name = || match route {
            Some(route) => format!("{method} {route}"),
            None => method.to_owned(),
        };
        let mut span = self.begin(name, request.headers());
        span.set("http.request.method", method.to_owned());
        if let Some(route) = route {
            span.set("http.route", route.to_owned());
        }
        span
    }

    /// Sends what is left, for at most three seconds.
    pub async fn end(self) {
        let Some(inner) = self.0 else { return };
        let sent =
            tokio::task::spawn_blocking(move || inner.provider.shutdown_with_timeout(LAST_MAX));
        if !matches!(sent.await, Ok(Ok(()))) {
            tracing::warn!("the last spans were not sent");
        }
    }
}

impl Span {
    /// Whether anything that is said goes anywhere.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.0.is_some()
    }

    /// Says something of the request.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        if let Some(span) = &mut self.0 {
            span.set_attribute(KeyValue::new(name, value.into()));
        }
    }

    /// The request is answered so; by 5xx it has failed.
    pub fn answered(&mut self, status: StatusCode) {
        self.set("http.response.status_code", i64::from(status.as_u16()));
        if let Some(span) = self.0.as_mut().filter(|_| status.is_server_error()) {
            span.set_status(Status::error(""));
        }
    }

    /// Whoever gets these headers goes on with the trace. Nothing changes where nothing is traced.
    pub fn hand_on(&self, headers: &mut HeaderMap) {
        if let Some(span) = &self.0 {
            let own = Context::new().with_remote_span_context(span.span_context().clone());
            propagator().inject_context(&own, &mut HeaderInjector(headers));
        }
    }
}

fn propagator() -> TraceContextPropagator {
    TraceContextPropagator::new()
}

/// Who sends: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` count as everywhere.
fn resource() -> Resource {
    let resource = Resource::builder();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = resource.with_attribute(version);
    if std::env::var_os("OTEL_SERVICE_NAME").is_some() {
        resource.build()
    } else {
        resource.with_service_name("spillway").build()
    }
}
