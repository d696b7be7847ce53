//! What no route ever gets to see: methods that are no calls, bodies that can be framed in two
//! ways, and heads beyond their bounds.

use http::{HeaderMap, Method, Request, StatusCode, Uri, header::TRANSFER_ENCODING};

use super::{Problem, connection::HEADERS_MAX};

/// The longest address that is taken, in bytes, path and query: as the upstreams' own
/// servers (IIS, http.sys). The head as a whole is bounded by the connection.
const ADDRESS_BYTES_MAX: usize = 16 * 1024;

/// Whether a method asks for no resource: for a tunnel, or for an echo of what browsers hide
/// from scripts.
pub(super) fn is_no_call(method: &Method) -> bool {
    [Method::CONNECT, Method::TRACE].contains(method) || method.as_str() == "TRACK"
}

/// Why a request is none.
pub(super) fn problem<B>(request: &Request<B>) -> Option<Problem> {
    if !is_framed_plainly(request.headers()) {
        let title = "The only transfer coding is chunked, once";
        return Some(Problem::new(StatusCode::BAD_REQUEST, "bad_framing", title));
    }
    if length(request.uri()) > ADDRESS_BYTES_MAX {
        let title = "The address is longer than 16 KiB";
        return Some(Problem::new(
            StatusCode::URI_TOO_LONG,
            "address_too_long",
            title,
        ));
    }
    if request.headers().len() > HEADERS_MAX {
        let title = "The request has more than 100 headers";
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Some(Problem::new(status, "too_many_headers", title));
    }
    None
}

/// Whether a body comes in chunks at most. Codings below them would be taken for the content's
/// own behind the gateway, which frames every call anew. Beside chunks hyper drops a
/// `Content-Length`, and ends the connection (RFC 9112, 6.1).
fn is_framed_plainly(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

fn length(uri: &Uri) -> usize {
    uri.path_and_query().map_or(0, |it| it.as_str().len())
}
