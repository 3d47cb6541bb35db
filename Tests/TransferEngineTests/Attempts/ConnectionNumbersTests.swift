import Testing
import TransferModel

@testable import TransferEngine

/// The numbers of connections, beside the plainest way to find them.
@Suite struct ConnectionNumbersTests {
    @Test func eachNumberIsTheLowestThatIsFree() throws {
        var numbers = ConnectionNumbers()
        var taken: [HostKey: Set<Int>] = [:]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let host = HostKey(rawValue: Int64.random(in: 0..<3, using: &random))
            let own = taken[host, default: []]
            if let number = own.randomElement(using: &random), Int.random(in: 0..<40) < own.count {
                numbers.giveBack(number, at: host)
                taken[host]?.remove(number)
            } else {
                let lowest = try #require((0...own.count).first { !own.contains($0) })
                try #require(numbers.take(at: host) == lowest)
                taken[host, default: []].insert(lowest)
            }
        }
        for (host, own) in taken { for number in own { numbers.giveBack(number, at: host) } }
        // Nothing is kept of a host without a connection.
        #expect(numbers.isEmpty)
    }
}
