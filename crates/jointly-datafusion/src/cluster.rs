//! Counting on many machines, by datafusion-distributed: workers are this program on other machines, and queries are divided
//! among them.

use std::net::TcpListener;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DistributedExt, SessionStateBuilderExt, Worker, WorkerQueryContext, WorkerResolver,
};
use jointly::data::{CountPlan, Counter, Units};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use url::Url;

use crate::function::{jointly_count, jointly_count_keys};
use crate::query::{count, count_units};
use crate::stores::environment;
use crate::units::{unit_key, unit_name};

/// How long a worker may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of a Parquet file for one partition, by default: a few row groups.
const BYTES: usize = 16 << 20;

/// What queries call beside the counter.
fn scalar_functions() -> Vec<Arc<ScalarUDF>> {
    vec![Arc::new(unit_name()), Arc::new(unit_key())]
}

/// Serves as a worker until the listener fails. Whoever can reach it can run queries on what this machine can read: keep it in a
/// network of its own.
///
/// # Errors
/// A listener that cannot be used.
pub async fn serve(listener: TcpListener) -> Result<()> {
    let worker = Worker::from_session_builder(|query: WorkerQueryContext| async move {
        let functions = vec![Arc::new(jointly_count()), Arc::new(jointly_count_keys())];
        let state = query.builder.with_aggregate_functions(functions);
        Ok(state.with_scalar_functions(scalar_functions()).build())
    });
    let worker = worker.with_runtime_env(environment()?);
    listener.set_nonblocking(true).map_err(DataFusionError::from)?;
    let listener = tokio::net::TcpListener::from_std(listener).map_err(DataFusionError::from)?;
    // States of counters are larger than gRPC's usual messages.
    let service = worker
        .into_worker_server()
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX);
    let server = Server::builder().add_service(service);
    server
        .serve_with_incoming(TcpIncoming::from(listener))
        .await
        .map_err(|error| DataFusionError::External(Box::new(error)))
}

/// Workers, and a session whose queries they share.
#[derive(Clone)]
pub struct Cluster {
    workers: Workers,
    context: SessionContext,
}

/// The workers that are believed to be alive.
#[derive(Clone)]
struct Workers(Arc<RwLock<Vec<Url>>>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.urls())
    }
}

impl Workers {
    fn urls(&self) -> Vec<Url> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the workers that accept no connection; returns their number.
    async fn forget_lost(&self) -> usize {
        let mut alive = Vec::new();
        let known = self.urls();
        for url in &known {
            let place =
                (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(0));
            if matches!(timeout(PATIENCE, TcpStream::connect(place)).await, Ok(Ok(_))) {
                alive.push(url.clone());
            }
        }
        let lost = known.len() - alive.len();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = alive;
        lost
    }
}

impl Cluster {
    /// A session over workers at some addresses, such as `http://10.0.0.7:8080`. All of them must see the tables of a query under the same names.
    /// `bytes_per_partition`: of a Parquet file; a query is divided among several workers if it reads more than one of them can take at once.
    ///
    /// # Errors
    /// No worker.
    pub fn new(workers: Vec<Url>, bytes_per_partition: Option<usize>) -> Result<Self> {
        if workers.is_empty() {
            return exec_err!("a cluster has no worker, expected at least one");
        }
        let workers = Workers(Arc::new(RwLock::new(workers)));
        let mut state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(SessionConfig::new())
            .with_runtime_env(environment()?)
            .with_distributed_planner()
            .with_distributed_worker_resolver(workers.clone())
            .with_distributed_file_scan_config_bytes_per_partition(
                bytes_per_partition.unwrap_or(BYTES),
            )?
            .build();
        for function in [jointly_count(), jointly_count_keys()] {
            datafusion::execution::FunctionRegistry::register_udaf(&mut state, Arc::new(function))?;
        }
        for function in scalar_functions() {
            datafusion::execution::FunctionRegistry::register_udf(&mut state, function)?;
        }
        Ok(Self { workers, context: SessionContext::from(state) })
    }

    /// The session, to register tables.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Addresses of the workers that have not been lost.
    pub fn workers(&self) -> Vec<Url> {
        self.workers.urls()
    }

    /// Counts the rows of a query by a plan, as [`count`](crate::count). If a worker is lost meanwhile, the others count all rows again: nothing of
    /// a query that failed is kept, so no row counts twice.
    ///
    /// # Errors
    /// As [`count`](crate::count), or no worker left.
    pub async fn count(&self, query: &str, plan: &CountPlan) -> Result<Counter> {
        self.insisting(async || count(&self.context, query, plan).await).await
    }

    /// Counts some rows of each unit, as [`count_units`]; otherwise as [`count`](Self::count).
    ///
    /// # Errors
    /// As [`count_units`], or no worker left.
    pub async fn count_units(
        &self,
        query: &str,
        plan: &CountPlan,
        units: &Units,
    ) -> Result<Counter> {
        self.insisting(async || count_units(&self.context, query, plan, units).await).await
    }

    /// Counts until no worker is lost meanwhile.
    async fn insisting(&self, count: impl AsyncFn() -> Result<Counter>) -> Result<Counter> {
        loop {
            let error = match count().await {
                Ok(counter) => return Ok(counter),
                Err(error) => error,
            };
            if self.workers.forget_lost().await == 0 {
                return Err(error);
            }
            if self.workers.urls().is_empty() {
                return exec_err!("all workers are lost; the last failure: {error}");
            }
        }
    }
}
