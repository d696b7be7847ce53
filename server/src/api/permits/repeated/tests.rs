use http::HeaderValue;
use tokio::sync::oneshot;

use super::*;

fn request(key: &str, body: &str) -> Request {
    Request::new(&Owner::OPEN, key, body.as_bytes(), 1)
}

fn refused() -> Outcomes {
    Arc::from([Outcome::Not(Problem::not_found())])
}

async fn undone() -> Outcomes {
    panic!("it was done again")
}

/// What is remembered, in calls, and how many ends are waited for.
fn size(repeated: &Repeated) -> (usize, usize, usize) {
    let book = repeated.lock();
    (book.known.len(), book.calls, book.ends.len())
}

#[tokio::test]
async fn who_comes_again_waits_for_the_first() {
    let repeated = Repeated::default();
    let (decide, decided) = oneshot::channel();
    let work = async move { decided.await.unwrap() };
    let request = request("k", "body");
    let first = repeated.once(&Caller::Anyone, &request, work);
    let again = repeated.once(&Caller::Anyone, &request, undone());
    let deciding = async {
        tokio::task::yield_now().await;
        decide.send(refused()).unwrap();
    };
    let (first, again, ()) = tokio::join!(first, again, deciding);
    assert!(!first.unwrap().1);
    assert!(again.unwrap().1);
    // Nothing was granted: the same key may try again.
    let (_, known) = repeated
        .once(&Caller::Anyone, &request, async { refused() })
        .await
        .unwrap();
    assert!(!known);
    assert_eq!(size(&repeated), (0, 0, 0));
}

#[tokio::test]
async fn the_first_may_leave_and_the_second_goes_on() {
    let repeated = Repeated::default();
    let (decide, decided) = oneshot::channel();
    let work = async move { decided.await.unwrap() };
    let request = request("k", "body");
    let mut first = Box::pin(repeated.once(&Caller::Anyone, &request, work));
    assert!((&mut first).now_or_never().is_none());
    let mut second = Box::pin(repeated.once(&Caller::Anyone, &request, undone()));
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    decide.send(refused()).unwrap();
    assert!(second.await.unwrap().1);
}

#[tokio::test]
async fn nobody_left_means_nothing_left() {
    let repeated = Repeated::default();
    let request = request("k", "body");
    let mut first = Box::pin(repeated.once(&Caller::Anyone, &request, std::future::pending()));
    assert!((&mut first).now_or_never().is_none());
    assert_eq!(size(&repeated), (1, 1, 0));
    drop(first);
    assert_eq!(size(&repeated), (0, 0, 0));
}

#[tokio::test]
async fn a_key_is_one_body_of_one_owner() {
    let repeated = Repeated::default();
    let request_a = request("k", "a");
    let mut first = Box::pin(repeated.once(&Caller::Anyone, &request_a, std::future::pending()));
    assert!((&mut first).now_or_never().is_none());
    let other = repeated
        .once(&Caller::Anyone, &request("k", "b"), undone())
        .await;
    assert_eq!(
        other.unwrap_err().to_json()["code"],
        "idempotency_key_reused"
    );
    let (_, known) = repeated
        .once(&Caller::Anyone, &request("l", "b"), async { refused() })
        .await
        .unwrap();
    assert!(!known);
    let owners = [Owner::OPEN, Owner::OPEN];
    assert_eq!(
        Request::new(&owners[0], "k", b"", 1),
        Request::new(&owners[1], "k", b"", 1)
    );
}

#[tokio::test]
async fn what_is_remembered_has_a_bound() {
    let repeated = Repeated::default();
    let many = Request {
        calls: CALLS_MAX,
        ..request("k", "")
    };
    let mut first = Box::pin(repeated.once(&Caller::Anyone, &many, std::future::pending()));
    assert!((&mut first).now_or_never().is_none());
    let beyond = repeated
        .once(&Caller::Anyone, &request("l", ""), undone())
        .await;
    assert_eq!(beyond.unwrap_err().to_json()["code"], "capacity");
    drop(first);
    let (_, known) = repeated
        .once(&Caller::Anyone, &request("l", ""), async { refused() })
        .await
        .unwrap();
    assert!(!known);
}

#[test]
fn a_key_is_visible_and_given_once() {
    let read = |values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("idempotency-key", HeaderValue::from_static(value));
        }
        key(&headers).map(|key| key.map(str::to_owned))
    };
    assert_eq!(read(&[]), Ok(None));
    for given in ["a-1", "\"a-1\"", " a-1 "] {
        assert_eq!(read(&[given]), Ok(Some("a-1".to_owned())), "{given}");
    }
    for bad in [
        &[""][..],
        &["\"\""],
        &["a b"],
        &["a\"b"],
        &["\"a\\b\""],
        &["a", "a"],
    ] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
    let mut headers = HeaderMap::new();
    headers.append("idempotency-key", "x".repeat(256).parse().unwrap());
    assert!(key(&headers).is_err());
}
