import HeapModule
import TransferModel

/// The numbers of the attempts that have begun at each host, of which a new one gets the lowest
/// that is free.
///
/// So the numbers in use are never more than the attempts that there were at once, and attempts one
/// after another have the same one.
struct ConnectionNumbers {
    private struct Host {
        /// The lowest number that was never given out.
        var end = 0
        /// The numbers below it that are free.
        var free = Heap<Int>()
    }

    /// The hosts of which a number is given out.
    private var hosts: [HostKey: Host] = [:]

    /// Whether no number is given out.
    var isEmpty: Bool { hosts.isEmpty }

    /// Gives out the lowest free number of a host, from 0 on.
    mutating func take(at host: HostKey) -> Int {
        var state = hosts.removeValue(forKey: host) ?? Host()
        defer { hosts[host] = state }
        if let number = state.free.popMin() { return number }
        defer { state.end += 1 }
        return state.end
    }

    /// Makes a number that was given out free again.
    mutating func giveBack(_ number: Int, at host: HostKey) {
        guard var state = hosts.removeValue(forKey: host) else { return }
        state.free.insert(number)
        if state.free.count < state.end { hosts[host] = state }
    }
}
