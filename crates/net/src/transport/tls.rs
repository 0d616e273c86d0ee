//! Encryption, set up when the first connection needs it: reading the system's certificates takes
//! longer than all the rest of a start, and a local server needs none.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::{HttpVersions, Roots};

/// The set-up of encryption, made once.
#[derive(Debug)]
pub(super) struct LazyTls {
    roots: Roots,
    versions: HttpVersions,
    config: OnceLock<Arc<ClientConfig>>,
}

impl LazyTls {
    pub(super) fn new(roots: Roots, versions: HttpVersions) -> Self {
        Self { roots, versions, config: OnceLock::new() }
    }

    /// A failure is not kept: the certificates may be there the next time.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let config = Arc::new(client_config(&self.roots, self.versions)?);
        Ok(self.config.get_or_init(|| config).clone())
    }
}

fn client_config(roots: &Roots, versions: HttpVersions) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(store(roots)?).with_no_client_auth();
    if versions == HttpVersions::OneAndTwo {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(config)
}

fn store(roots: &Roots) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let found = match roots {
        Roots::System => rustls_native_certs::load_native_certs().certs,
        Roots::Pem(text) => {
            let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
            all.map_err(|error| format!("the given certificates cannot be read: {error}"))?
        }
    };
    store.add_parsable_certificates(found);
    if store.is_empty() {
        return Err("no certificate authority is known here; install the system's \
                    certificates, or name a file that holds some"
            .to_owned());
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_authorities_no_server_is_trusted() {
        let tls = LazyTls::new(Roots::Pem(b"no certificate".to_vec()), HttpVersions::One);
        let error = tls.config().expect_err("nothing can be trusted");
        assert!(error.starts_with("no certificate authority is known here"), "{error}");
        let broken = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".to_vec();
        let error =
            LazyTls::new(Roots::Pem(broken), HttpVersions::One).config().expect_err("broken");
        assert!(error.starts_with("the given certificates cannot be read"), "{error}");
    }
}
