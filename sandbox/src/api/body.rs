//! Bodies of requests and responses.

use std::convert::Infallible;

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use jiff::Timestamp;
use serde_json::Value;

use super::error::ApiError;

/// The longest body of a request, in bytes.
const REQUEST_LIMIT: usize = 3 * 1024 * 1024;

/// A response's body.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A JSON response.
pub(super) fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut text = value.to_string();
    text.push('\n');
    respond(
        status,
        "application/json",
        Full::new(text.into()).boxed_unsync(),
    )
}

/// A text response.
pub(super) fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    respond(
        status,
        "text/plain; charset=utf-8",
        Full::new(text.into()).boxed_unsync(),
    )
}

/// A response that goes on.
pub(super) fn stream(
    content_type: &'static str,
    pieces: impl Stream<Item = Bytes> + Send + 'static,
) -> Response<Body> {
    use futures::StreamExt;
    let frames = pieces.map(|piece| Ok(Frame::data(piece)));
    respond(
        StatusCode::OK,
        content_type,
        StreamBody::new(frames).boxed_unsync(),
    )
}

fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, private"),
    );
    // The second in which this very response is made: clients estimate the clock's offset from it.
    let now = Timestamp::now()
        .strftime("%a, %d %b %Y %H:%M:%S GMT")
        .to_string();
    if let Ok(now) = HeaderValue::from_str(&now) {
        headers.insert(header::DATE, now);
    }
    response
}

/// Reads a request's body whole.
pub(super) async fn read(body: Incoming) -> Result<Bytes, ApiError> {
    match Limited::new(body, REQUEST_LIMIT).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(e) if e.is::<http_body_util::LengthLimitError>() => Err(ApiError::too_large(format!(
            "the body is longer than {REQUEST_LIMIT} bytes"
        ))),
        Err(e) => Err(ApiError::bad_request(format!("cannot read the body: {e}"))),
    }
}

/// Reads a JSON body.
pub(super) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body)
        .map_err(|e| ApiError::bad_request(format!("the body is not JSON: {e}")))
}
