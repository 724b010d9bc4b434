//! The name of this machine for other brokers on a storage: machines with the same name share loopback addresses.

/// The name: of the running system and of its network, so that two containers of a machine differ. `None` where the
/// system doesn't say it.
pub fn name() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let network = std::fs::read_link("/proc/self/ns/net").ok()?;
    let network: String = network.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{network}", boot.trim()))
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn a_machine_has_the_same_name_each_time() {
        let name = super::name().unwrap();
        assert!(name.len() > 36 && super::name() == Some(name.clone()), "{name}");
    }
}
