//! Get and list.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Value, json};

use super::error::ApiError;
use super::query::Query;
use super::resource::Resource;
use super::selector::Selector;
use super::table::table;
use crate::Store;

/// The form in which a client wants objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are.
    Json,
    /// As a `meta.k8s.io` Table.
    Table,
}

impl Form {
    /// Reads the Accept header: the first media type that can be served. Everything that is not a Table is JSON.
    pub(super) fn wanted(headers: &HeaderMap) -> Self {
        let accept = headers.get_all(http::header::ACCEPT).iter();
        let mut types = accept
            .filter_map(|a| a.to_str().ok())
            .flat_map(|a| a.split(','));
        let known = types.find_map(|media_type| {
            let mut parts = media_type.split(';').map(str::trim);
            let json = parts.next()? == "application/json";
            let parameter = parts.find_map(|p| p.strip_prefix("as="));
            match (json, parameter) {
                (true, Some("Table")) => Some(Self::Table),
                (true, None) => Some(Self::Json),
                _ => None,
            }
        });
        known.unwrap_or(Self::Json)
    }
}

/// One object.
pub(super) fn get(
    store: &Store,
    resource: &Resource,
    namespace: &str,
    name: &str,
    form: Form,
    query: &Query,
) -> Result<Value, ApiError> {
    let object = store
        .get(resource.kind, namespace, name)
        .ok_or_else(|| ApiError::not_found(resource, name))?;
    Ok(match form {
        Form::Json => Value::clone(&object),
        Form::Table => {
            let version = &object["metadata"]["resourceVersion"];
            let version = version.as_str().unwrap_or_default().to_owned();
            table(resource.kind, &[object], &version, query)
        }
    })
}

/// All objects that the selectors select. The whole list is always in one page.
pub(super) fn list(
    store: &Store,
    resource: &Resource,
    namespace: Option<&str>,
    form: Form,
    query: &Query,
) -> Result<Value, ApiError> {
    let selector = Selector::parse(resource.kind, query)?;
    let (objects, version) = store.list(resource.kind, namespace);
    check_version(query, version)?;
    let objects: Vec<Arc<Value>> = objects
        .into_iter()
        .filter(|o| selector.matches(o))
        .collect();
    let version = version.to_string();
    if form == Form::Table {
        return Ok(table(resource.kind, &objects, &version, query));
    }
    Ok(json!({
        "kind": format!("{}List", resource.kind.as_str()),
        "apiVersion": resource.kind.api_version(),
        "metadata": {"resourceVersion": version},
        "items": objects,
    }))
}

fn check_version(query: &Query, current: u64) -> Result<(), ApiError> {
    let Some(text) = query.get("resourceVersion") else {
        return Ok(());
    };
    let asked: u64 = text.parse().map_err(|_| {
        ApiError::bad_request(format!("resourceVersion {text:?}: expected a number"))
    })?;
    match query.get("resourceVersionMatch") {
        _ if asked > current => Err(ApiError::version_too_large(asked, current)),
        Some("Exact") if asked != current => Err(ApiError::expired(format!(
            "The resourceVersion for the provided list is too old: {asked} (only {current} is kept)"
        ))),
        Some("Exact" | "NotOlderThan") | None => Ok(()),
        Some(other) => Err(ApiError::bad_request(format!(
            "resourceVersionMatch {other:?}: expected Exact or NotOlderThan"
        ))),
    }
}
