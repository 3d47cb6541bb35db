import Foundation
import PollLoop

/// Several loops among which the transfers of one program are divided, so that these are not bound
/// to one processor.
///
/// The connections to a host are numbered, and the number decides on the loop. Whoever gives each
/// new transfer the lowest number that is free keeps what one loop promises: transfers one after
/// another use the same kept connection, and no more connections to a host are kept than it had at
/// once.
package final class CurlLoops: Sendable {
    /// The loop for transfers that are too few to be divided.
    package let first: CurlLoop
    private let others: [CurlLoop]

    /// Starts the threads.
    ///
    /// - Parameters:
    ///   - name: the threads' name in tools such as `top -H`.
    ///   - count: the number of loops, above zero.
    ///   - connectionsMax: the most transfers of one loop at once; about as many connections as
    ///     these and a quarter more are kept by all loops together.
    /// - Throws: ``CurlError`` when the process has no descriptor, thread or memory left.
    package init(
        name: String,
        count: Int,
        connectionsMax: Int = CurlLoop.connectionsMaxDefault
    ) throws(CurlError) {
        precondition(count > 0, "transfers need a loop")
        // Threads that find addresses are there for all of them.
        let names = try CurlLoop.namePool()
        func loop() throws(CurlError) -> CurlLoop {
            try CurlLoop(
                name: name,
                connectionsMax: connectionsMax,
                kept: KeptConnections(
                    countMax: CurlLoop.keptMax(for: connectionsMax, loops: count)
                ),
                names: names
            )
        }
        first = try loop()
        var others: [CurlLoop] = []
        for _ in 1..<count { others.append(try loop()) }
        self.others = others
    }

    /// Returns the loop for the connection with a number, from 0 on, to a host.
    ///
    /// The lowest numbers of different hosts are on different loops, as far as chance has it.
    package func loop(ofConnection number: Int = 0, to host: some Hashable) -> CurlLoop {
        guard !others.isEmpty else { return first }
        let place = UInt(bitPattern: host.hashValue) &+ UInt(bitPattern: number)
        let index = Int(place % UInt(others.count + 1))
        return index == 0 ? first : others[index - 1]
    }

    /// Ends the threads, and all remaining transfers with `cancelled`.
    package func stop() {
        first.stop()
        for loop in others { loop.stop() }
    }
}
