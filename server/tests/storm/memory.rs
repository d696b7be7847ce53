//! What a process holds in memory, as the system counts it.

/// Now, in MiB.
pub fn now_mib(process: u32) -> u64 {
    mib(process, "VmRSS:")
}

/// The most that it ever held, in MiB.
pub fn peak_mib(process: u32) -> u64 {
    mib(process, "VmHWM:")
}

fn mib(process: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(what));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() / 1_024
}
