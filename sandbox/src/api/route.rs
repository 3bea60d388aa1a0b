//! What a request's path names.

use super::resource::{GROUPS, Resource};

/// A path, understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/version`.
    Version,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/<group>`.
    Group(&'static str),
    /// `/api/v1` (empty group), `/apis/<group>/v1`.
    Resources(&'static str),
    /// `/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`.
    AccessReview,
    /// All objects of a resource, of one namespace or of all.
    Collection {
        resource: &'static Resource,
        namespace: Option<String>,
    },
    /// One object, or a subresource of it.
    Object(Target),
}

/// One object, or a subresource of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) resource: &'static Resource,
    /// Empty for resources that are not namespaced.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: Option<String>,
}

impl Route {
    /// Reads a path; `None` for one that nothing is at.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        match segments.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => Some(Self::Health),
            ["version"] => Some(Self::Version),
            ["api"] => Some(Self::CoreVersions),
            ["apis"] => Some(Self::Groups),
            ["api", "v1"] => Some(Self::Resources("")),
            ["api", "v1", rest @ ..] => Self::resource("", rest),
            [
                "apis",
                "authorization.k8s.io",
                "v1",
                "selfsubjectaccessreviews",
            ] => Some(Self::AccessReview),
            ["apis", group, rest @ ..] => {
                let group = *GROUPS.iter().find(|g| *g == group)?;
                match rest {
                    [] => Some(Self::Group(group)),
                    ["v1"] => Some(Self::Resources(group)),
                    ["v1", rest @ ..] => Self::resource(group, rest),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn resource(group: &'static str, segments: &[&str]) -> Option<Self> {
        let (namespace, segments) = match segments {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let (plural, rest) = segments.split_first()?;
        let resource = Resource::find(group, plural)?;
        let (name, subresource) = match rest {
            [] => {
                let namespace = namespace.map(str::to_owned);
                return Some(Self::Collection {
                    resource,
                    namespace,
                });
            }
            [name] => (*name, None),
            [name, subresource] => (*name, Some((*subresource).to_owned())),
            _ => return None,
        };
        if resource.namespaced != namespace.is_some() {
            return None;
        }
        Some(Self::Object(Target {
            resource,
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
            subresource,
        }))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn object(path: &str) -> (String, String, String, Option<String>) {
        match Route::parse(path).unwrap() {
            Route::Object(t) => (
                t.resource.plural.to_owned(),
                t.namespace,
                t.name,
                t.subresource,
            ),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_name_objects_and_subresources() {
        let owned = |a: &str, b: &str, c: &str, d: Option<&str>| {
            (
                a.to_owned(),
                b.to_owned(),
                c.to_owned(),
                d.map(str::to_owned),
            )
        };
        assert_eq!(
            object("/api/v1/namespaces/shop/pods/a"),
            owned("pods", "shop", "a", None)
        );
        assert_eq!(
            object("/api/v1/namespaces/shop/pods/a/log"),
            owned("pods", "shop", "a", Some("log"))
        );
        assert_eq!(
            object("/apis/apps/v1/namespaces/shop/deployments/web/scale"),
            owned("deployments", "shop", "web", Some("scale"))
        );
        assert_eq!(
            object("/api/v1/namespaces/shop"),
            owned("namespaces", "", "shop", None)
        );
        assert_eq!(
            object("/api/v1/nodes/node1"),
            owned("nodes", "", "node1", None)
        );
    }

    #[test]
    fn collections_are_of_one_namespace_or_of_all() {
        for (path, expected) in [
            ("/api/v1/pods", None),
            ("/api/v1/namespaces/shop/pods", Some("shop")),
            (
                "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
                Some("shop"),
            ),
        ] {
            let Some(Route::Collection { namespace, .. }) = Route::parse(path) else {
                panic!("{path}");
            };
            assert_eq!(namespace.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn other_paths_name_nothing() {
        for path in [
            "/",
            "/openapi/v2",
            "/openapi/v3",
            "/apis/batch/v1/jobs",
            "/api/v1/pods/a",
            "/api/v1/configmaps",
            "/api/v1/namespaces/shop/pods/a/log/b",
        ] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
