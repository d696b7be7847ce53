//! How many connections a listener serves, and one client's part of them.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The connections a listener serves at once; more wait in the system's own queue. Well
/// above what 1,000 viewers and their clients need, well below a raised `nofile`.
const CONNECTIONS_MAX: usize = 8_192;

/// How many of them one address may have: a single machine must not keep all others out,
/// and a proxy, or many people behind one address, must get along.
const ONE_ADDRESS_MAX: usize = CONNECTIONS_MAX / 2;

/// A listener's places.
#[derive(Debug)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    taken: Mutex<HashMap<IpAddr, usize>>,
    one_address_max: usize,
}

/// Room for one connection, nobody's yet.
#[derive(Debug)]
pub(super) struct Room {
    _permit: OwnedSemaphorePermit,
}

/// A client's place, free again when dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    address: IpAddr,
    _room: Room,
}

impl Places {
    pub(super) fn new() -> Arc<Self> {
        Self::of(CONNECTIONS_MAX, ONE_ADDRESS_MAX)
    }

    fn of(all: usize, one_address_max: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(all)),
            taken: Mutex::default(),
            one_address_max,
        })
    }

    /// Waits for room.
    pub(super) async fn room(&self) -> Option<Room> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        permit.ok().map(|_permit| Room { _permit })
    }

    /// Gives room to a client; `None`: it has its part.
    pub(super) fn take(self: &Arc<Self>, room: Room, client: IpAddr) -> Option<Place> {
        let address = owner(client);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(address).or_default();
        if *count >= self.one_address_max {
            return None;
        }
        *count += 1;
        Some(Place {
            places: Arc::clone(self),
            address,
            _room: room,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let taken = self.places.taken.lock();
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// What one client is given: an address of IPv4, 64 bits of IPv6.
fn owner(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(places: &Arc<Places>, client: &str) -> Option<Place> {
        let room = places.room().await.unwrap();
        places.take(room, client.parse().unwrap())
    }

    #[tokio::test]
    async fn one_client_leaves_room_for_others_and_what_ends_is_forgotten() {
        let places = Places::of(4, 2);
        let first = take(&places, "192.0.2.1").await.unwrap();
        let _second = take(&places, "::ffff:192.0.2.1").await.unwrap();
        assert!(take(&places, "192.0.2.1").await.is_none());
        let one = take(&places, "2001:db8::1").await.unwrap();
        let two = take(&places, "2001:db8::2").await.unwrap();
        assert_eq!(places.free.available_permits(), 0);
        drop((one, two));
        assert!(take(&places, "2001:db8:0:1::1").await.is_some());
        drop(first);
        assert!(take(&places, "192.0.2.1").await.is_some());
        assert_eq!(places.taken.lock().unwrap().len(), 1, "only who is there");
    }
}
