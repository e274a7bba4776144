//! Object stores, by the addresses of tables.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{ClientOptions, ObjectStore};
use url::{Host, Position, Url};

/// A session whose queries may name tables in object stores: `s3://`, `gs://`, `az://` or `abfss://`, and `https://`. Credentials
/// and regions are those of the environment, in the variables of each store's own tools (`AWS_*`, `GOOGLE_*`, `AZURE_*`).
///
/// # Errors
/// None in practice.
pub fn session() -> Result<SessionContext> {
    Ok(SessionContext::new_with_config_rt(SessionConfig::new(), environment()?))
}

/// What sessions share: object stores.
pub(crate) fn environment() -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default())).build_arc()
}

/// The stores that were asked for so far, each made when it is first named.
#[derive(Debug, Default)]
struct Stores {
    /// By their addresses.
    known: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
    /// The files of this machine.
    files: DefaultObjectStoreRegistry,
}

impl Stores {
    /// The address of a store in that of a table, with the container's name if it has one.
    fn address(url: &Url) -> &str {
        &url[..Position::BeforePath]
    }
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(Self::address(url).to_owned(), store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = known.get(Self::address(url)) {
            return Ok(Arc::clone(store));
        }
        if url.scheme() == "file" {
            return self.files.get_store(url);
        }
        let store = store(url)?;
        known.insert(Self::address(url).to_owned(), Arc::clone(&store));
        Ok(store)
    }
}

/// A store by its address.
fn store(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    let text = Stores::address(url);
    let failed = |error: object_store::Error| DataFusionError::ObjectStore(Box::new(error));
    Ok(match url.scheme() {
        "s3" | "s3a" => {
            Arc::new(AmazonS3Builder::from_env().with_url(text).build().map_err(failed)?)
        }
        "gs" => {
            Arc::new(GoogleCloudStorageBuilder::from_env().with_url(text).build().map_err(failed)?)
        }
        "az" | "azure" | "adl" | "abfs" | "abfss" => {
            Arc::new(MicrosoftAzureBuilder::from_env().with_url(text).build().map_err(failed)?)
        }
        // Private rows cross no network in the clear.
        "https" => Arc::new(HttpBuilder::new().with_url(text).build().map_err(failed)?),
        "http" if is_this_machine(url) => {
            let options = ClientOptions::new().with_allow_http(true);
            let builder = HttpBuilder::new().with_url(text).with_client_options(options);
            Arc::new(builder.build().map_err(failed)?)
        }
        other => {
            return exec_err!(
                "table '{url}' is at {other}://, expected s3://, gs://, az://, abfss://, https:// or file://"
            );
        }
    })
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
