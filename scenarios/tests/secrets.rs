//! No secret of a scenario gets into a recording, and secrets from the environment get into the requests.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rollscope_scenarios::{
    RequestSpec, Scenario, VariableFault, environment_headers, parse, redacted, redacted_path,
    secret_values,
};

const TEXT: &str = r#"
name: shop
target: { none: {} }
load:
  base_url: http://127.0.0.1:8080
  rate: 1/s
  requests:
    - name: list
      get: /orders?access_token=s3cr3t-1&page=2&sig=s3cr3t-2&x=eyJhbGciOiJIUzI1NiJ9.s3cr3t3.abc
      headers:
        authorization: Bearer s3cr3t-4-long
        cookie: sid=s3cr3t-5
        x-api-key: s3cr3t-6
        x-anything: s3cr3t-7
        accept: text/html
        x-from-env: { env: SHOP_TOKEN_FOR_TEST }
      body: { inline: '{"password": "s3cr3t-8"}' }
stages:
  - exec: "TOKEN=s3cr3t-9 ./deploy.sh --password s3cr3t-10 --api-key=s3cr3t-11  --replicas=3 -H 'Authorization: Bearer s3cr3t-12-x'"
  - exec: [deploy, --token, s3cr3t-13, --user=app, "https://u:s3cr3t-14@host/x", production]
  - exec: curl -H X-Key:$KEY ghp0s3cr3t15s3cr3t15s3cr3t https://host/a-long-path-with-1-number-in-it
"#;

fn scenario() -> Scenario {
    parse(TEXT, "x.yaml", Path::new("")).unwrap()
}

#[test]
fn a_recorded_scenario_has_no_secret_and_keeps_the_rest() {
    let recorded = redacted(&scenario()).to_string();
    assert!(!recorded.contains("s3cr3t"), "{recorded}");
    for kept in [
        "text/html",
        "SHOP_TOKEN_FOR_TEST",
        "page=2",
        "./deploy.sh --password redacted --api-key=redacted  --replicas=3",
        "--user=app",
        "production",
        "a-long-path-with-1-number-in-it",
        "\"inline_bytes\":24",
        "x-api-key",
    ] {
        assert!(recorded.contains(kept), "{kept} is missing in {recorded}");
    }
}

#[test]
fn paths_lose_the_values_of_secret_parameters_alone() {
    for (path, expected) in [
        ("/work?ms=300", "/work?ms=300"),
        ("/a?token=x&b=1", "/a?token=redacted&b=1"),
        ("/a?X-Amz-Signature=x", "/a?X-Amz-Signature=redacted"),
        (
            "/a?code=x&country_code=de",
            "/a?code=redacted&country_code=redacted",
        ),
        ("/a?id=0123456789abcdef0123", "/a?id=redacted"),
        ("/a?monkey=1&keyboard=de", "/a?monkey=1&keyboard=de"),
        ("/orders", "/orders"),
        ("/a?", "/a?"),
    ] {
        assert_eq!(redacted_path(path), expected);
    }
}

fn request() -> RequestSpec {
    scenario().load.requests.remove(0)
}

#[test]
fn a_header_takes_its_value_from_the_environment() {
    let headers = environment_headers(&request(), |name| {
        assert_eq!(name, "SHOP_TOKEN_FOR_TEST");
        Some("Bearer abc".into())
    });
    let headers = headers.unwrap();
    assert_eq!(
        headers.last().unwrap(),
        &("x-from-env".to_owned(), "Bearer abc".to_owned())
    );
    assert_eq!(headers.len(), 6);
}

#[test]
fn a_variable_that_cannot_be_a_header_value_is_named_without_its_value() {
    for (value, fault, words) in [
        (None, VariableFault::NotSet, "is not set"),
        (Some(OsString::new()), VariableFault::Empty, "is empty"),
        (
            Some("s3cr3t\r\nx: y".into()),
            VariableFault::NotAHeaderValue,
            "is not text on one line",
        ),
        (
            Some("s3cr3t\n".into()),
            VariableFault::NotAHeaderValue,
            "is not text on one line",
        ),
        (
            Some(OsString::from_vec(vec![b'a', 0xff])),
            VariableFault::NotAHeaderValue,
            "is not text on one line",
        ),
    ] {
        let errors = environment_headers(&request(), |_| value.clone()).unwrap_err();
        assert_eq!(errors.0[0].fault, fault);
        let message = errors.to_string();
        let beginning = format!("the environment variable `SHOP_TOKEN_FOR_TEST` {words}");
        assert!(message.starts_with(&beginning), "{message}");
        assert!(
            message.contains("the header `x-from-env` of the request `list`"),
            "{message}"
        );
        assert!(!message.contains("s3cr3t"), "{message}");
    }
}

#[test]
fn secrets_of_files_and_templates_are_known_and_not_recorded() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("token"), "Bearer s3cr3t-in-a-file\n").unwrap();
    let text = TEXT
        .replace("x-from-env: { env: SHOP_TOKEN_FOR_TEST }", "x-from-file: { file: token }")
        .replace(
            "body: { inline: '{\"password\": \"s3cr3t-8\"}' }",
            "body: { template: 's3cr3t-16 {{env:SHOP_TOKEN_FOR_TEST}}' }\n      expect_body: { contains: s3cr3t-17 }",
        );
    let scenario = parse(&text, "x.yaml", dir.path()).unwrap();
    let recorded = redacted(&scenario).to_string();
    assert!(!recorded.contains("s3cr3t"), "{recorded}");
    assert_eq!(
        secret_values(&scenario),
        ["Bearer s3cr3t-in-a-file", "s3cr3t-in-a-file"]
    );
    std::fs::remove_file(dir.path().join("token")).unwrap();
    let errors = scenario.check_environment().unwrap_err();
    let faults: Vec<_> = errors.0.iter().map(|e| e.fault).collect();
    assert_eq!(faults, [VariableFault::Unreadable, VariableFault::NotSet]);
    let message = errors.to_string();
    assert!(
        message.contains("but the header `x-from-file` of the request `list`")
            && message.contains("but the body of the request `list`"),
        "{message}"
    );
}

#[test]
fn the_environment_is_checked_apart_from_the_file() {
    let errors = scenario().check_environment().unwrap_err();
    assert_eq!(errors.0.len(), 1);
    assert_eq!(errors.0[0].variable, "SHOP_TOKEN_FOR_TEST");
}
