use std::sync::{Arc, Mutex};

use super::*;
use crate::{
    outbox::Carrier,
    store::{MessageState, NewMessage},
};

const START_MS: i64 = 1_800_000_000_000;

type Answer = Box<dyn Fn(&StoredMessage) -> Result<(), Failure> + Send + Sync>;

/// Answers as a test says, and keeps who was served in which order.
struct Post {
    answer: Answer,
    served: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl Carrier for Post {
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        self.served.lock().unwrap().push(message.recipient.clone());
        (self.answer)(message)
    }
}

/// Never answers.
struct Silence;

#[async_trait::async_trait]
impl Carrier for Silence {
    async fn carry(&self, _: &StoredMessage) -> Result<(), Failure> {
        std::future::pending().await
    }
}

struct Office {
    store: Store,
    post: Arc<Post>,
    sending: Sending,
    _dir: tempfile::TempDir,
}

impl Office {
    async fn new(
        answer: impl Fn(&StoredMessage) -> Result<(), Failure> + Send + Sync + 'static,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/spillway.db", dir.path().display());
        let store = Store::open(&url).await.unwrap();
        let post = Arc::new(Post {
            answer: Box::new(answer),
            served: Mutex::default(),
        });
        let carriers = Carriers::default()
            .with_mail(Arc::clone(&post) as _)
            .with_webhook("hangs", Arc::new(Silence))
            .with_webhook("works", Arc::clone(&post) as _);
        let counters = Counters::new(&prometheus::Registry::new()).unwrap();
        Self {
            sending: Sending::new(store.clone(), carriers, counters, 1),
            store,
            post,
            _dir: dir,
        }
    }

    async fn owe(&self, kind: Kind, recipient: &str, dedupe: &str) {
        let message = NewMessage {
            kind,
            recipient: recipient.to_owned(),
            topic: "test",
            dedupe: dedupe.to_owned(),
            subject: "s".to_owned(),
            body: "b".to_owned(),
            html: None,
            payload: None,
        };
        assert!(self.store.owe(&message, START_MS).await.unwrap());
    }

    async fn states(&self) -> Vec<MessageState> {
        let messages = self.store.messages(100).await.unwrap();
        messages.iter().rev().map(|it| it.state).collect()
    }

    fn served(&self) -> Vec<String> {
        self.post.served.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn one_recipients_many_messages_do_not_keep_another_waiting() {
    let mut office = Office::new(|_| Ok(())).await;
    for n in 0..20 {
        for many in ["a", "b", "c", "d", "e"] {
            office.owe(Kind::Mail, many, &n.to_string()).await;
        }
    }
    office.owe(Kind::Mail, "one", "1").await;
    office.sending.round(START_MS).await.unwrap();
    let served = office.served();
    assert_eq!(served.len(), 101);
    let at = served.iter().position(|it| it == "one").unwrap();
    assert!(at < 10, "served as number {at}");
}

#[tokio::test]
async fn who_refuses_is_not_asked_again_and_who_is_busy_later() {
    let mut office = Office::new(|message| match message.recipient.as_str() {
        "never" => Err(Failure::Never("550".to_owned())),
        "later" => Err(Failure::Later("450".to_owned())),
        _ => Ok(()),
    })
    .await;
    for recipient in ["never", "later", "fine"] {
        office.owe(Kind::Mail, recipient, "1").await;
    }
    office.sending.round(START_MS).await.unwrap();
    let (failed, waiting, sent) = (
        MessageState::Failed,
        MessageState::Waiting,
        MessageState::Sent,
    );
    assert_eq!(office.states().await, [failed, waiting, sent]);
    office.sending.round(START_MS + 4_999).await.unwrap();
    assert_eq!(office.served().len(), 3);
    office.sending.round(START_MS + 6_250).await.unwrap();
    assert_eq!(office.served().len(), 4);
    // After five days it is given up.
    office.sending.round(START_MS + TRIED_MS_MAX).await.unwrap();
    assert_eq!(office.states().await, [failed, failed, sent]);
    let given_up = &office.store.messages(3).await.unwrap()[1];
    assert_eq!(given_up.error.as_deref(), Some("given up: 450"));
}

/// However much waits, a server that is down is asked by one message at a time, and ever less.
#[tokio::test]
async fn a_server_that_is_down_is_asked_by_one_message_alone() {
    let mut office = Office::new(|_| Err(Failure::Down("refused".to_owned()))).await;
    for n in 0..50 {
        office.owe(Kind::Mail, &format!("r{n}"), "1").await;
    }
    for second in 0..600 {
        office
            .sending
            .round(START_MS + second * 1_000)
            .await
            .unwrap();
    }
    // Four find out together; then 5, 10, 20 and 40 s later, and about once a minute.
    let tried = office.served().len();
    assert!(
        (12..=20).contains(&tried),
        "tried {tried} times in ten minutes"
    );
    let figures = office.store.outbox_figures(Kind::Mail).await.unwrap();
    assert_eq!((figures.owed, figures.down_since_ms), (50, Some(START_MS)));
    assert_eq!(figures.error.as_deref(), Some("refused"));
}

#[tokio::test]
async fn one_that_hangs_delays_nobody_else() {
    let mut office = Office::new(|_| Ok(())).await;
    office.owe(Kind::Webhook, "hangs", "1").await;
    office.owe(Kind::Webhook, "hangs", "2").await;
    office.owe(Kind::Webhook, "works", "1").await;
    office.owe(Kind::Mail, "a", "1").await;
    office.sending.begin_due(START_MS).await.unwrap();
    for _ in 0..2 {
        let ended = office.sending.on_their_way.join_next().await.unwrap();
        office.sending.ended(ended, START_MS).await;
    }
    let (sending, waiting, sent) = (
        MessageState::Sending,
        MessageState::Waiting,
        MessageState::Sent,
    );
    assert_eq!(office.states().await, [sending, waiting, sent, sent]);
    // The process ends: nobody knows whether the first has arrived, so that it is sent again.
    assert_eq!(office.store.resume_sending(CUT_OFF).await.unwrap(), 1);
    assert_eq!(office.states().await, [waiting, waiting, sent, sent]);
}

#[tokio::test]
async fn what_nobody_is_configured_for_is_given_up_by_name() {
    let mut office = Office::new(|_| Ok(())).await;
    office.owe(Kind::Webhook, "gone", "1").await;
    office.sending.round(START_MS).await.unwrap();
    let messages = office.store.messages(1).await.unwrap();
    assert_eq!(messages[0].state, MessageState::Failed);
    assert_eq!(
        messages[0].error.as_deref(),
        Some("no webhook of this name is configured")
    );
}

#[tokio::test]
async fn what_is_settled_is_forgotten_after_thirty_days_and_what_is_owed_never() {
    let mut office = Office::new(|message| match message.recipient.as_str() {
        "a" => Ok(()),
        _ => Err(Failure::Later("450".to_owned())),
    })
    .await;
    office.owe(Kind::Mail, "a", "1").await;
    office.owe(Kind::Mail, "b", "1").await;
    office.sending.round(START_MS).await.unwrap();
    office.store.forget_settled(START_MS).await.unwrap();
    assert_eq!(office.states().await.len(), 2);
    office.store.forget_settled(START_MS + 1).await.unwrap();
    assert_eq!(office.states().await, [MessageState::Waiting]);
}

#[tokio::test]
async fn more_than_may_be_owed_is_refused() {
    let office = Office::new(|_| Ok(())).await;
    office.store.owe_many_for_tests(store::OWED_MAX).await;
    let message = NewMessage {
        kind: Kind::Mail,
        recipient: "a".to_owned(),
        topic: "test",
        dedupe: "one too many".to_owned(),
        subject: String::new(),
        body: String::new(),
        html: None,
        payload: None,
    };
    let refused = office.store.owe(&message, START_MS).await.unwrap_err();
    assert!(matches!(refused, store::Error::OutboxFull(store::OWED_MAX)));
}

#[test]
fn what_another_program_said_is_cut_between_letters() {
    let long = "ä".repeat(400);
    let kept = cut(long);
    assert!(kept.len() <= ERROR_BYTES_MAX + '…'.len_utf8());
    assert!(kept.ends_with("ä…"));
    assert_eq!(cut("short".to_owned()), "short");
}
