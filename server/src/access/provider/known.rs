//! What the provider says of itself, and the client that the library makes of it.

use std::collections::BTreeMap;

use openidconnect::{
    AdditionalClaims, ClientId, ClientSecret, EmptyExtraTokenFields, EndpointMaybeSet,
    EndpointNotSet, EndpointSet, IdTokenFields, IdTokenVerifier, RedirectUrl,
    StandardErrorResponse, StandardTokenResponse,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
        CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata,
        CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse,
        CoreTokenType,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Oidc;

/// What ID tokens may be signed by: all that the library verifies by a public key. A provider's
/// `none` or `HS256` is not among them: the first is no signature, the second is by the client's
/// secret, which is asked for codes alone.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// The claims that are not of the standard: roles and whatever else there is.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Others(BTreeMap<String, Value>);

impl AdditionalClaims for Others {}

/// An ID token, not verified yet.
pub(super) type IdToken = openidconnect::IdToken<
    Others,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

/// The claims of a verified one.
pub(super) type Claims = openidconnect::IdTokenClaims<Others, CoreGenderClaim>;

/// What the token endpoint answers.
pub(super) type Tokens = StandardTokenResponse<
    IdTokenFields<
        Others,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;

/// How it refuses.
pub(super) type Refusal = StandardErrorResponse<CoreErrorResponseType>;

/// A client of this provider: its addresses, its keys, and what Spillway is called there.
pub(super) type Known = openidconnect::Client<
    Others,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    Refusal,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// What verifies its tokens.
pub(super) type Verifier<'a> = IdTokenVerifier<'a, CoreJsonWebKey>;

/// The client that is made of what the provider says of itself.
pub(super) fn known(said: CoreProviderMetadata, config: &Oidc, back: RedirectUrl) -> Known {
    let secret = config.client_secret.clone().map(ClientSecret::new);
    let id = ClientId::new(config.client_id.clone());
    Known::from_provider_metadata(said, id, secret).set_redirect_uri(back)
}

/// What verifies the tokens of this client by the provider's keys.
pub(super) fn verifier(known: &Known) -> Verifier<'_> {
    known.id_token_verifier().set_allowed_algs(ALGORITHMS)
}
