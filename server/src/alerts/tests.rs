//! Everything but the clock and the mail server is real: an engine whose upstream throttles, the
//! machine, the database and the outbox.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use spillway::{
    Answer, Call, Engine, Instant, Lane, Layer, Named, Policy, Scope, Settings, Share, Signal,
    Stopped as Found, Verdict,
};

use super::{incident::Step, *};
use crate::{
    outbox::{Carrier, Carriers, Counters, Failure, Sending},
    store::{MessageState, NewMessage, OutboxFigures, StoredMessage},
};

const START_MS: i64 = 1_800_000_000_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// How often it is looked what is wrong; a caller calls as often.
const LOOK_MS: i64 = 10_000;

/// How often the outbox looks what is due, as it is woken by nobody here.
const SEND_MS: i64 = 30_000;

/// A mail server, or a webhook's program, that can be down.
#[derive(Debug, Default)]
struct Post {
    down: AtomicBool,
    now_ms: AtomicI64,
    tried: AtomicI64,
    /// When since the start, and the subject.
    taken: Mutex<Vec<(i64, String)>>,
}

#[async_trait::async_trait]
impl Carrier for Post {
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        self.tried.fetch_add(1, Ordering::Relaxed);
        if self.down.load(Ordering::Relaxed) {
            return Err(Failure::Down("connection refused".to_owned()));
        }
        let since_ms = self.now_ms.load(Ordering::Relaxed) - START_MS;
        self.taken
            .lock()
            .unwrap()
            .push((since_ms, message.subject.clone()));
        Ok(())
    }
}

/// A server as far as trouble goes.
struct House {
    engine: Engine,
    incidents: Incidents,
    rules: Rules,
    told: Told,
    store: Store,
    sending: Sending,
    mail: Arc<Post>,
    chat: Arc<Post>,
    now_ms: i64,
    _dir: tempfile::TempDir,
}

impl House {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/spillway.db", dir.path().display());
        let store = Store::open(&url).await.unwrap();
        let (mail, chat) = (Arc::<Post>::default(), Arc::<Post>::default());
        let carriers = Carriers::default()
            .with_mail(Arc::clone(&mail) as _)
            .with_webhook("chat", Arc::clone(&chat) as _);
        let counters = Counters::new(&prometheus::Registry::new()).unwrap();
        let recipient = |kind, name: &str| Recipient {
            kind,
            name: name.to_owned(),
        };
        Self {
            engine: engine(),
            incidents: Incidents::default(),
            rules: Rules::of(&config::Alerts::default()),
            told: Told {
                recipients: vec![
                    recipient(Kind::Mail, "ops@example.org"),
                    recipient(Kind::Webhook, "chat"),
                ],
                link: "https://spillway.example.org/alerts".to_owned(),
            },
            sending: Sending::new(store.clone(), carriers, counters, 1),
            store,
            mail,
            chat,
            now_ms: START_MS,
            _dir: dir,
        }
    }

    /// Lets time pass until then; meanwhile somebody calls, and is throttled when `throttles` says
    /// so, by the time since the start.
    async fn until_ms(&mut self, end_ms: i64, throttles: impl Fn(i64) -> bool) {
        while self.now_ms - START_MS < end_ms {
            let since_ms = self.now_ms - START_MS;
            self.call(throttles(since_ms));
            self.look().await;
            if since_ms % SEND_MS == 0 {
                for post in [&self.mail, &self.chat] {
                    post.now_ms.store(self.now_ms, Ordering::Relaxed);
                }
                self.sending.round(self.now_ms).await.unwrap();
            }
            self.now_ms += LOOK_MS;
        }
    }

    fn now(&self) -> Instant {
        Instant(self.now_ms.unsigned_abs())
    }

    fn call(&mut self, is_throttled: bool) {
        let call = Call {
            workload: 0,
            app: "note-bridge".into(),
            tenant: String::new(),
            user: "ana".into(),
            lane: Lane::Foreground,
            weight: 1,
        };
        let now = self.now();
        // A breaker that is open refuses it.
        if let Answer::Granted(grant) = self.engine.ask(now, &call, now) {
            self.engine.report(now, grant.permit, &signal(is_throttled));
            self.engine.complete(now, grant.permit);
        }
        self.engine.settle(now);
    }

    async fn look(&mut self) {
        let mut found = [Found::default()];
        self.engine
            .find_trouble(self.now(), &mut found, 0, usize::MAX);
        let mut wrong = Wrong::new();
        let sight = Sight {
            upstream: "graph",
            workload: "onenote",
            users_min: 3,
            when_ms: |at: Instant| i64::try_from(at.0).unwrap(),
        };
        let [found] = found;
        sight.add(found, &mut wrong);
        if let Some(trouble) = mail_trouble(&self.store, self.now_ms).await.unwrap() {
            wrong.insert(Subject::Mail, trouble);
        }
        let step = self.incidents.step(self.now_ms, &wrong, &self.rules);
        assert!(
            keep(&self.store, &step, &self.told, self.now_ms)
                .await
                .unwrap()
        );
        self.incidents = step.next;
    }

    /// As a new process finds it.
    async fn restart(&mut self) {
        self.incidents = restored(&self.store, self.now_ms).await.unwrap();
    }

    fn mails(&self) -> Vec<(i64, String)> {
        self.mail.taken.lock().unwrap().clone()
    }
}

fn engine() -> Engine {
    let settings = Settings {
        users_max: 10,
        waiters_max: 10,
        lease_ms: 120_000,
        renewals_ms_max: 900_000,
        probe_ms: 30_000,
        background_turn: 20,
        global: None,
        told_ms_max: u64::MAX,
        hash_seed: 7,
    };
    let layer = Layer::new(Scope::App, spillway::Dimension::Concurrency, 4).unwrap();
    let policy = Policy::new(vec![layer], Share::HALF).unwrap();
    Engine::new(settings, vec![policy], Instant(START_MS.unsigned_abs()))
}

fn signal(is_throttled: bool) -> Signal {
    let app = Named {
        user: false,
        tenant: false,
        app: true,
    };
    Signal {
        verdict: if is_throttled {
            Verdict::Throttled
        } else {
            Verdict::Passed
        },
        retry_after_ms: is_throttled.then_some(60_000),
        named: is_throttled.then_some(app),
        percentage_permille: None,
        remaining: None,
        charged_units: None,
        unauthorized: false,
    }
}

fn is_over(mail: &(i64, String)) -> bool {
    mail.1.starts_with("[Spillway] Over: ")
}

/// Case 44 [konga#401, maple#237]: a breaker open for twelve hours.
#[tokio::test]
async fn a_breaker_open_for_twelve_hours_is_one_mail_and_one_after_ten_minutes_closed() {
    let mut house = House::new().await;
    house.until_ms(13 * HOUR_MS, |at| at < 12 * HOUR_MS).await;
    let mails = house.mails();
    let [opened, over] = &mails[..] else {
        panic!("{mails:?}");
    };
    assert!(!is_over(opened) && opened.0 <= 6 * MINUTE_MS, "{mails:?}");
    // The wait that was named, some calls to recover, and ten minutes.
    let late_ms = over.0 - 12 * HOUR_MS;
    assert!(
        is_over(over) && (10 * MINUTE_MS..14 * MINUTE_MS).contains(&late_ms),
        "{mails:?}"
    );
    assert_eq!(house.chat.taken.lock().unwrap().len(), 2);
}

/// The same where it opens and closes all the time: reopenings belong to the same incident.
#[tokio::test]
async fn twelve_hours_of_flapping_are_one_mail_and_one_after_ten_minutes_closed() {
    let mut house = House::new().await;
    let flaps = |at: i64| at < 12 * HOUR_MS && at % (7 * MINUTE_MS) < 2 * MINUTE_MS;
    for hour in 1..=13 {
        house.until_ms(hour * HOUR_MS, flaps).await;
        // Whatever the process forgets.
        house.restart().await;
    }
    let mails = house.mails();
    assert_eq!(
        mails.iter().map(is_over).collect::<Vec<_>>(),
        [false, true],
        "{mails:?}"
    );
    let late_ms = mails[1].0 - 12 * HOUR_MS;
    assert!((0..14 * MINUTE_MS).contains(&late_ms), "{mails:?}");
    let returns = house.store.incidents(10).await.unwrap();
    assert_eq!(returns.len(), 1, "{returns:?}");
    let incident: Incident = serde_json::from_str(&returns[0].facts).unwrap();
    assert!(incident.returns > 50, "it did flap: {incident:?}");
}

/// Case 44, the other half: the mail server is down for ten minutes.
#[tokio::test]
async fn a_mail_server_that_is_down_for_ten_minutes_gets_one_mail_afterwards() {
    let mut house = House::new().await;
    house.mail.down.store(true, Ordering::Relaxed);
    house.until_ms(15 * MINUTE_MS, |_| true).await;
    assert_eq!(house.mails(), []);
    let tried = house.mail.tried.load(Ordering::Relaxed);
    assert!(
        (5..=15).contains(&tried),
        "tried {tried} times in ten minutes"
    );
    // Programs were told of both meanwhile.
    let chat = house.chat.taken.lock().unwrap().clone();
    let told: Vec<_> = chat.iter().map(|(_, subject)| subject.as_str()).collect();
    assert_eq!(told.len(), 2, "{chat:?}");
    assert_eq!(told[1], "[Spillway] Mail does not go out");

    house.mail.down.store(false, Ordering::Relaxed);
    house.until_ms(45 * MINUTE_MS, |_| true).await;
    let mails = house.mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0].0 - 15 * MINUTE_MS <= 2 * MINUTE_MS, "{mails:?}");
    // That mail goes out again is nothing that a mail has to say, either.
    assert_eq!(house.chat.taken.lock().unwrap().len(), 3);
}

/// All of it happens while nobody can be told: then one mail says that it is over.
#[tokio::test]
async fn what_begins_and_ends_while_mail_is_down_is_one_mail_that_says_both() {
    let mut house = House::new().await;
    house.mail.down.store(true, Ordering::Relaxed);
    house
        .until_ms(60 * MINUTE_MS, |at| at < 20 * MINUTE_MS)
        .await;
    house.mail.down.store(false, Ordering::Relaxed);
    house.until_ms(90 * MINUTE_MS, |_| false).await;
    let mails = house.mails();
    assert_eq!(
        mails.iter().map(is_over).collect::<Vec<_>>(),
        [true],
        "{mails:?}"
    );
    let messages = house.store.messages(100).await.unwrap();
    let mails = messages.iter().filter(|it| it.kind == Kind::Mail);
    let states: Vec<_> = mails.map(|it| it.state).collect();
    assert_eq!(states, [MessageState::Sent, MessageState::Merged]);
    let figures = house.store.outbox_figures(Kind::Mail).await.unwrap();
    assert_eq!(figures, OutboxFigures::default());
}

/// A message that is being sent just now is not replaced: nobody knows whether it arrives.
#[tokio::test]
async fn what_is_being_sent_is_left_alone() {
    let mut house = House::new().await;
    house.mail.down.store(true, Ordering::Relaxed);
    house.until_ms(7 * MINUTE_MS, |_| true).await;
    let waiting = house.store.waiting(TOPIC).await.unwrap();
    let [waiting] = &waiting[..] else {
        panic!("{waiting:?}");
    };
    let sending = house.store.begin_sending(waiting.id).await.unwrap();
    assert!(sending.is_some());
    let step = Step {
        told: vec![house.incidents.all()[0].clone()],
        ..Step::default()
    };
    assert!(
        keep(&house.store, &step, &house.told, house.now_ms)
            .await
            .unwrap()
    );
    let mails = house.store.messages(10).await.unwrap();
    let mails = mails.iter().filter(|it| it.kind == Kind::Mail);
    let states: Vec<_> = mails.map(|it| it.state).collect();
    assert_eq!(states, [MessageState::Waiting, MessageState::Sending]);
}

/// The alerts mail is refused for good: that is trouble, and programs are told.
#[tokio::test]
async fn a_refused_mail_counts_as_mail_that_does_not_go_out() {
    let house = House::new().await;
    let message = NewMessage {
        kind: Kind::Mail,
        recipient: "ops@example.org".into(),
        topic: TOPIC,
        dedupe: "x".into(),
        subject: "s".into(),
        body: "b".into(),
        html: None,
        payload: None,
    };
    assert!(house.store.owe(&message, START_MS).await.unwrap());
    assert!(
        !house.store.owe(&message, START_MS).await.unwrap(),
        "owed once"
    );
    let [head] = &house.store.due(Kind::Mail, START_MS, 9).await.unwrap()[..] else {
        panic!("it is due");
    };
    house.store.begin_sending(head.id).await.unwrap();
    let how = store::Settlement::Failed {
        error: "the recipient: permanent error (550)".into(),
    };
    house.store.settle(head.id, &how, START_MS).await.unwrap();
    let trouble = mail_trouble(&house.store, START_MS + 1).await.unwrap();
    assert!(trouble.unwrap().error.unwrap().contains("550"));
    let later = mail_trouble(&house.store, START_MS + GIVEN_UP_MS)
        .await
        .unwrap();
    assert_eq!(later, None);
}
