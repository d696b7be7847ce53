//! The charged keys: apps, their tenants, their users, for each workload.
//!
//! A key is found by its name below its parent, so that a user's costs one look-up, and its
//! names are kept once. Keys that count nothing and that nothing needs vanish.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::num::NonZeroU32;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::breaker::Breaker;
use crate::call::Scope;
use crate::key::{Key, KeyRef};
use crate::node::Node;
use crate::shape::Shape;
use crate::shards::Opener;
use crate::time::Instant;
use crate::workload::Workload;

/// Where a key stands. It stays while something holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    /// The place of this position; a vector that long does not fit any memory.
    pub(crate) fn at(position: usize) -> Self {
        let number = u32::try_from(position).unwrap_or(u32::MAX - 1) + 1;
        Self(NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN))
    }

    const fn position(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// How many places each operation looks at for idle keys: memory follows the live keys and
/// no operation pays for a full sweep.
const SWEPT_EACH_TIME: usize = 2;

/// So many nodes are stored together: no growth moves all of them, and little is allocated in vain.
const CHUNK: usize = 256;

#[derive(Clone, Debug)]
pub(crate) struct Tree {
    chunks: Vec<Vec<Option<Node>>>,
    vacant: Vec<Place>,
    index: HashTable<Place>,
    /// Seeded by the driver, so that nobody can choose names that make look-ups slow.
    hasher: FixedState,
    users: usize,
    /// Looked at all at this instant or before, no user goes by itself sooner.
    full_until: Option<Instant>,
    swept: usize,
    /// What changed since it was last recorded.
    changed: Vec<Place>,
    /// Whose breaker changed since this was last asked.
    told: BTreeSet<Place>,
    /// The same of keys that have vanished since.
    told_gone: Vec<Key>,
    /// For whom new users come to be now.
    opener: Option<Opener>,
    /// For whom users came to be (true) or vanished since this was last asked.
    openings: Vec<(Opener, bool)>,
}

/// Where the keys of one call stand in one workload, as far as they exist.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path([Option<Place>; 3]);

impl Path {
    pub(crate) const fn at(&self, scope: Scope) -> Option<Place> {
        self.0[scope as usize]
    }

    pub(crate) const fn set(&mut self, scope: Scope, place: Place) {
        self.0[scope as usize] = Some(place);
    }
}

impl Tree {
    pub(crate) fn new(hash_seed: u64) -> Self {
        Self {
            chunks: Vec::new(),
            vacant: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::with_seed(hash_seed),
            users: 0,
            full_until: None,
            swept: 0,
            changed: Vec::new(),
            told: BTreeSet::new(),
            told_gone: Vec::new(),
            opener: None,
            openings: Vec::new(),
        }
    }

    /// How many user keys exist in workloads that limit users.
    pub(crate) const fn users(&self) -> usize {
        self.users
    }

    /// From now on, users come to be for `opener`.
    pub(crate) const fn open_for(&mut self, opener: Option<Opener>) {
        self.opener = opener;
    }

    /// For whom users came to be, or vanished, since this was last asked.
    pub(crate) fn take_openings(&mut self) -> Vec<(Opener, bool)> {
        std::mem::take(&mut self.openings)
    }

    /// A policy changed, and perhaps whether it limits users.
    pub(crate) fn recount_users(&mut self, workloads: &[Workload]) {
        self.full_until = None;
        let users = self.nodes().filter(|(_, node)| {
            let shape = &workloads[usize::from(node.workload)].shape;
            node.scope == Scope::User && shape.has(Scope::User)
        });
        self.users = users.count();
    }

    #[inline]
    pub(crate) fn get(&self, place: Place) -> Option<&Node> {
        let index = place.position();
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Node> {
        let index = place.position();
        self.chunks
            .get_mut(index / CHUNK)?
            .get_mut(index % CHUNK)?
            .as_mut()
    }

    /// The app's key, if it exists.
    pub(crate) fn app(&self, workload: usize, app: &str) -> Option<Place> {
        self.find(workload, None, app)
    }

    /// Where the keys of a call stand.
    pub(crate) fn path(&self, workload: usize, app: &str, tenant: &str, user: &str) -> Path {
        let mut path = Path::default();
        let names = [
            (Scope::App, app),
            (Scope::Tenant, tenant),
            (Scope::User, user),
        ];
        let mut parent = None;
        for (scope, name) in names {
            let Some(place) = self.find(workload, parent, name) else {
                break;
            };
            path.0[scope as usize] = Some(place);
            parent = Some(place);
        }
        path
    }

    /// The same for the key itself and those above it.
    pub(crate) fn place_of(&self, key: KeyRef<'_>) -> Option<Place> {
        let app = self.find(key.workload, None, key.app)?;
        if key.scope == Scope::App {
            return Some(app);
        }
        let tenant = self.find(key.workload, Some(app), key.tenant)?;
        if key.scope == Scope::Tenant {
            return Some(tenant);
        }
        self.find(key.workload, Some(tenant), key.user)
    }

    /// The place of a key, made with those above it where it does not exist.
    pub(crate) fn make(&mut self, key: KeyRef<'_>, shape: &Shape) -> Place {
        let mut place = self.make_below(key.workload, None, Scope::App, key.app, shape);
        if key.scope != Scope::App {
            place = self.make_below(key.workload, Some(place), Scope::Tenant, key.tenant, shape);
        }
        if key.scope == Scope::User {
            place = self.make_below(key.workload, Some(place), Scope::User, key.user, shape);
        }
        place
    }

    /// The place of a key whose path was looked up, made where it does not exist.
    pub(crate) fn complete(&mut self, path: &Path, key: KeyRef<'_>, shape: &Shape) -> Place {
        match path.at(key.scope) {
            Some(place) => place,
            None => self.make(key, shape),
        }
    }

    /// The place of the key at a position, and its names, if there is one.
    pub(crate) fn key_at(&self, position: usize) -> Option<(Place, KeyRef<'_>)> {
        let place = Place::at(position);
        Some((place, self.key(place)?))
    }

    /// The names of a key.
    pub(crate) fn key(&self, place: Place) -> Option<KeyRef<'_>> {
        let node = self.get(place)?;
        let mut key = KeyRef {
            workload: usize::from(node.workload),
            scope: node.scope,
            app: "",
            tenant: "",
            user: "",
        };
        let mut next = Some(node);
        while let Some(node) = next {
            match node.scope {
                Scope::User => key.user = &node.name,
                Scope::Tenant => key.tenant = &node.name,
                Scope::App => key.app = &node.name,
            }
            next = node.parent.and_then(|parent| self.get(parent));
        }
        Some(key)
    }

    /// The key and those above it, narrowest first.
    pub(crate) fn lineage(&self, place: Place) -> impl Iterator<Item = Place> {
        let mut next = Some(place);
        std::iter::from_fn(move || {
            let place = next?;
            next = self.get(place).and_then(|node| node.parent);
            Some(place)
        })
    }

    /// Something needs this key.
    pub(crate) fn hold(&mut self, place: Place) {
        if let Some(node) = self.get_mut(place) {
            node.holds += 1;
        }
    }

    /// It needs it no more.
    pub(crate) fn let_go(&mut self, place: Place) {
        if let Some(node) = self.get_mut(place) {
            node.holds = node.holds.saturating_sub(1);
            if node.holds == 0 {
                self.full_until = None;
            }
        }
    }

    /// The same where its counts are over then at the earliest.
    #[inline]
    pub(crate) fn let_go_counting(&mut self, place: Place, until: Instant) {
        let full_until = self.full_until.map(|at| at.min(until));
        self.let_go(place);
        self.full_until = full_until;
    }

    /// Has to be recorded.
    #[inline]
    pub(crate) fn mark(&mut self, place: Place) {
        if let Some(node) = self.get_mut(place)
            && !std::mem::replace(&mut node.changed, true)
        {
            self.marked(place);
        }
    }

    /// A key that was just marked has to be recorded.
    pub(crate) fn marked(&mut self, place: Place) {
        self.changed.push(place);
        self.forget_recorded();
    }

    /// A driver that records nothing must not make the list grow for ever.
    fn forget_recorded(&mut self) {
        if self.changed.len() > 2 * self.chunks.len() * CHUNK {
            let mut changed = std::mem::take(&mut self.changed);
            changed.sort_unstable();
            changed.dedup();
            changed.retain(|place| self.get(*place).is_some_and(|node| node.changed));
            self.changed = changed;
        }
    }

    /// What changed since this was last asked.
    pub(crate) fn take_changed(&mut self) -> Vec<Place> {
        let changed = std::mem::take(&mut self.changed);
        for place in &changed {
            if let Some(node) = self.get_mut(*place) {
                node.changed = false;
            }
        }
        changed
    }

    /// Tells the breaker of a budget something, and what came of it.
    pub(crate) fn tell<T>(
        &mut self,
        place: Place,
        telling: impl FnOnce(&mut Breaker) -> T,
    ) -> Option<T> {
        let (told, changed) = self.get_mut(place)?.tell(telling);
        if changed {
            self.told.insert(place);
            self.mark(place);
        }
        Some(told)
    }

    /// Whether the upstream, or an operator, said something of this budget.
    pub(crate) fn has_breaker(&self, place: Place) -> bool {
        self.get(place).is_some_and(|node| node.breaker().is_some())
    }

    /// The breakers that changed since this was last asked; none: it has nothing to say any more.
    pub(crate) fn take_told(&mut self) -> Vec<(Key, Option<Breaker>)> {
        let gone = std::mem::take(&mut self.told_gone).into_iter();
        let told = std::mem::take(&mut self.told)
            .into_iter()
            .filter_map(|place| {
                let breaker = self.get(place)?.breaker().cloned();
                Some((self.key(place)?.to_key(), breaker))
            });
        gone.map(|key| (key, None)).chain(told).collect()
    }

    /// Every key.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (Place, &Node)> {
        let all = self.chunks.iter().flatten().zip(0..);
        all.filter_map(|(node, place)| Some((Place::at(place), node.as_ref()?)))
    }

    /// Every key's place.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.nodes().map(|(place, _)| place).collect()
    }

    /// How many places there are, vacant ones included.
    pub(crate) fn places_len(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// The key at a position, if there is one.
    pub(crate) fn at_mut(&mut self, position: usize) -> Option<&mut Node> {
        self.get_mut(Place::at(position))
    }

    /// Drops idle keys among the next few places.
    #[inline]
    pub(crate) fn sweep(&mut self, workloads: &[Workload], now: Instant) {
        for _ in 0..SWEPT_EACH_TIME {
            self.swept += 1;
            if self.swept >= self.chunks.len() * CHUNK {
                self.swept = 0;
            }
            self.drop_if_idle(Place::at(self.swept), workloads, now);
        }
    }

    /// Makes room: drops all keys that count nothing, also those of users who only stand in
    /// line; users before tenants before apps, since those above are needed.
    pub(crate) fn sweep_all(&mut self, workloads: &[Workload], now: Instant) {
        // A flood of new users must not cost a look at all others each.
        if self.full_until.is_some_and(|until| now < until) {
            return;
        }
        for scope in Scope::ALL {
            let of_scope = self.nodes().filter(|(_, node)| node.scope == scope);
            let places: Vec<_> = of_scope.map(|(place, _)| place).collect();
            for place in places {
                if let Some(node) = self.get_mut(place) {
                    let shape = &workloads[usize::from(node.workload)].shape;
                    node.forget_line_if_alone(shape.at(node.scope), now);
                }
                self.drop_if_idle(place, workloads, now);
            }
        }
        let users = self.nodes().filter(|(_, node)| node.scope == Scope::User);
        let idle = users.filter_map(|(_, node)| {
            let shape = &workloads[usize::from(node.workload)].shape;
            node.idle_not_before(shape.at(Scope::User))
        });
        let until = idle.min().unwrap_or(Instant(u64::MAX));
        self.full_until = Some(until.max(now.plus_ms(1)));
    }

    /// Drops a key that counts nothing and that nothing needs.
    pub(crate) fn drop_if_idle(&mut self, place: Place, workloads: &[Workload], now: Instant) {
        let Some(node) = self.get_mut(place) else {
            return;
        };
        let shape = &workloads[usize::from(node.workload)].shape;
        if !node.is_idle(shape.at(node.scope), now) {
            return;
        }
        if self.told.remove(&place) {
            self.told_gone.extend(self.key(place).map(KeyRef::to_key));
        }
        let Some(node) = self.get(place) else { return };
        let (workload, parent, scope) = (usize::from(node.workload), node.parent, node.scope);
        let opener = node.opener;
        let hash = hash(&self.hasher, workload, parent, &node.name);
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == place) {
            entry.remove();
        }
        let index = place.position();
        self.chunks[index / CHUNK][index % CHUNK] = None;
        self.vacant.push(place);
        if scope == Scope::User && shape.has(Scope::User) {
            self.users -= 1;
        }
        self.openings.extend(opener.map(|opener| (opener, false)));
        if let Some(parent) = parent {
            self.let_go(parent);
        }
    }

    fn make_below(
        &mut self,
        workload: usize,
        parent: Option<Place>,
        scope: Scope,
        name: &str,
        shape: &Shape,
    ) -> Place {
        if let Some(place) = self.find(workload, parent, name) {
            return place;
        }
        let place = self.vacant.pop().unwrap_or_else(|| self.grow());
        let index = place.position();
        self.chunks[index / CHUNK][index % CHUNK] = Some(Node::new(name, parent, workload, scope));
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        let rehash = |place: &Place| {
            let index = place.position();
            chunks[index / CHUNK][index % CHUNK]
                .as_ref()
                .map_or(0, |node| {
                    hash(hasher, usize::from(node.workload), node.parent, &node.name)
                })
        };
        self.index
            .insert_unique(hash(hasher, workload, parent, name), place, rehash);
        self.full_until = None;
        if scope == Scope::User && shape.has(Scope::User) {
            self.users += 1;
            self.opened(place);
        }
        if let Some(parent) = parent {
            self.hold(parent);
        }
        place
    }

    /// A user came to be, for whomever they do now.
    fn opened(&mut self, place: Place) {
        let opener = self.opener;
        if let (Some(opener), Some(node)) = (opener, self.get_mut(place)) {
            node.opener = Some(opener);
            self.openings.push((opener, true));
        }
    }

    /// A place that was never taken.
    fn grow(&mut self) -> Place {
        let first = self.chunks.len() * CHUNK;
        self.chunks.push((0..CHUNK).map(|_| None).collect());
        self.vacant
            .extend((first + 1..first + CHUNK).rev().map(Place::at));
        Place::at(first)
    }

    fn find(&self, workload: usize, parent: Option<Place>, name: &str) -> Option<Place> {
        let is = |place: &Place| {
            self.get(*place)
                .is_some_and(|node| is(node, workload, parent, name))
        };
        self.index
            .find(hash(&self.hasher, workload, parent, name), is)
            .copied()
    }
}

fn is(node: &Node, workload: usize, parent: Option<Place>, name: &str) -> bool {
    node.parent == parent && usize::from(node.workload) == workload && *node.name == *name
}

fn hash(hasher: &FixedState, workload: usize, parent: Option<Place>, name: &str) -> u64 {
    let mut state = hasher.build_hasher();
    match parent {
        Some(place) => state.write_u32(place.0.get()),
        None => state.write_u64(u64::MAX - workload as u64),
    }
    name.hash(&mut state);
    state.finish()
}
