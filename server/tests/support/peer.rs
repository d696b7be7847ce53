//! An upstream of flesh and blood: a server that answers as a test says and keeps count.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// A body as a test makes it.
pub type PeerBody = BoxBody<Bytes, Infallible>;

/// What a call looked like when it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
}

/// The counts of an honest referee: a call is in flight until its answer has been made,
/// whoever waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub arrived: usize,
    pub in_flight: usize,
    pub peak: usize,
}

/// The upstream, gone when dropped.
pub struct Peer {
    pub address: SocketAddr,
    counts: watch::Sender<Counts>,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Peer {
    /// Answers each call as `answer` says.
    pub async fn start<A, F>(answer: A) -> Self
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<PeerBody>> + Send + 'static,
    {
        let counts = watch::Sender::new(Counts::default());
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (told, noted) = (counts.clone(), Arc::clone(&seen));
        let service = move |request: Request<Incoming>| {
            note(&noted, &request);
            told.send_modify(Counts::begin);
            // As a real server: what was asked is done, even if nobody waits any more.
            let (told, answer) = (told.clone(), answer(request));
            let work = tokio::spawn(async move {
                let response = answer.await;
                told.send_modify(|counts| counts.in_flight -= 1);
                response
            });
            async move { Ok::<_, Infallible>(work.await.expect("the answer is made")) }
        };
        Self::accept(counts, seen, move |stream| {
            let service = service_fn(service.clone());
            async move {
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            }
        })
        .await
    }

    /// Does with each connection what `script` says, byte by byte.
    pub async fn raw<A, F>(script: A) -> Self
    where
        A: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let counts = watch::Sender::new(Counts::default());
        let told = counts.clone();
        Self::accept(counts, Arc::default(), move |stream| {
            told.send_modify(Counts::begin);
            let (told, work) = (told.clone(), script(stream));
            async move {
                work.await;
                told.send_modify(|counts| counts.in_flight -= 1);
            }
        })
        .await
    }

    async fn accept<A, F>(
        counts: watch::Sender<Counts>,
        seen: Arc<Mutex<Vec<Seen>>>,
        serve: A,
    ) -> Self
    where
        A: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream));
            }
        });
        Self {
            address,
            counts,
            seen,
            _tasks: tasks,
        }
    }

    /// A OneNote upstream called `graph` at this address, holding calls up to 10 s.
    pub fn onenote(&self) -> String {
        format!(
            "[upstreams.graph]\nbase_url = 'http://{}/'\npresets = ['onenote']\nhold_max_ms = 10000\n",
            self.address
        )
    }

    /// What it counted so far.
    pub fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until the counts are as `wanted`.
    pub async fn until(&self, wanted: impl FnMut(&Counts) -> bool) -> Counts {
        *self.counts.subscribe().wait_for(wanted).await.unwrap()
    }

    /// All calls so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The only call so far.
    pub fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.into_iter().next().unwrap()
    }
}

impl Counts {
    fn begin(&mut self) {
        self.arrived += 1;
        self.in_flight += 1;
        self.peak = self.peak.max(self.in_flight);
    }
}

/// A body of these bytes.
pub fn body(bytes: impl Into<Bytes>) -> PeerBody {
    Full::new(bytes.into()).boxed()
}

/// 200 with these bytes.
pub fn ok(bytes: impl Into<Bytes>) -> Response<PeerBody> {
    Response::new(body(bytes))
}

fn note(seen: &Mutex<Vec<Seen>>, request: &Request<Incoming>) {
    seen.lock().unwrap().push(Seen {
        method: request.method().clone(),
        uri: request.uri().clone(),
        headers: request.headers().clone(),
    });
}
