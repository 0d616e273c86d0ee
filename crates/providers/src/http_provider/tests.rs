use net::Upstream;

use super::*;

fn config() -> HttpConfig {
    let endpoint = crate::catalogue::endpoint("anthropic").expect("a known name");
    endpoint.config(None, Secret::new("sk-1").ok())
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_sent() {
    let refused = |change: fn(&mut HttpConfig)| {
        let mut config = config();
        change(&mut config);
        HttpProvider::new(config).expect_err("it cannot work").to_string()
    };
    for url in ["", "localhost:1", "ftp://h", "http://", "http://a b"] {
        let mut config = config();
        config.base_url = url.into();
        let error = HttpProvider::new(config).expect_err(url);
        assert_eq!(error, HttpConfigError::Address { url: url.into() });
    }
    assert_eq!(
        refused(|config| config.headers.push(("a b".into(), "c".into()))),
        "the header `a b` has an invalid name or value"
    );
    let proxy =
        refused(|config| config.network.https_proxy = Some(Upstream::new("http://u:password@")));
    assert_eq!(proxy, "the proxy address is not valid: write it as http://host:port");
}

#[test]
fn a_key_is_in_the_headers_and_in_no_print() {
    let mut config = config();
    config.headers.push(("x-team".into(), "secret-team".into()));
    config.network.https_proxy = Some(Upstream::new("http://user:password@proxy:1"));
    let provider = HttpProvider::new(config).expect("a good configuration");
    let headers = &provider.shared.headers;
    assert_eq!(headers["authorization"], "Bearer sk-1");
    assert_eq!(headers["anthropic-version"], "2026-10-21");
    let printed = format!("{provider:?}");
    for secret in ["sk-1", "password"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}
