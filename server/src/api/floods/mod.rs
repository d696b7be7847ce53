//! `/api/v1/events`, `/api/v1/sites` and `/api/v1/flood-policies`: the flood guard.
//!
//! Events are read and answered in [`events`]; what people do to lists and sites stands in
//! [`steer`], what is shown of them in [`lists`].

mod asked;
mod events;
mod letters;
mod lines;
mod lists;
mod minutes;
mod policies;
mod preview;
mod sites;
mod steer;

use utoipa_axum::{router::OpenApiRouter, routes};

use super::Api;
pub(super) use events::reported;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(events::report))
        .routes(routes!(sites::get, sites::put))
        .routes(routes!(steer::pause_site))
        .routes(routes!(steer::resume_site))
        .routes(routes!(lists::all))
        .routes(routes!(lists::one))
        .routes(routes!(minutes::get))
        .routes(routes!(steer::enable))
        .routes(routes!(steer::pause_list))
        .routes(routes!(steer::resume_list))
        .routes(routes!(policies::get, policies::put))
        .routes(routes!(policies::versions))
        .routes(routes!(policies::roll_back))
        .routes(routes!(preview::try_out))
}
