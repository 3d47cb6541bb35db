import Dispatch
import Foundation
import Glibc
import PollLoop
import Synchronization
import Testing
import TransferTestSupport

@testable import Curl

@Suite struct NameLookupsTests {
    private let start = ContinuousClock.now

    @Test func aNameIsAskedForOnceHoweverManyWait() throws {
        var lookups = NameLookups()
        let asked = lookups.wait(1, for: "a.test", of: .init())
        let question = try #require(asked)
        let isAskedAgain = lookups.wait(2, for: "a.test", of: .init()) != nil
        let isAnotherAsked = lookups.wait(3, for: "b.test", of: .init()) != nil
        #expect(!isAskedAgain && isAnotherAsked)
        #expect(lookups.answered(question, ["127.0.0.1"], at: start) == [1, 2])
        #expect(lookups.known("a.test", at: start) == ["127.0.0.1"])
        #expect(lookups.known("a.test", at: start + .seconds(61)) == nil)
        #expect(lookups.known("b.test", at: start) == nil)
    }

    /// A name may have thousands of one family, and those of the other come behind them.
    @Test func theFirstAddressesOfEachFamilyHaveRoom() {
        var room = NameLookups.Room()
        let families = Array(repeating: AF_INET6, count: 20) + Array(repeating: AF_INET, count: 20)
        let taken = families.filter { room.take($0) }
        #expect(taken.count == 2 * NameLookups.Room.ofFamily)
    }

    @Test func whatNobodyWaitsForIsNotAsked() throws {
        var lookups = NameLookups()
        let asked = lookups.wait(1, for: "a.test", of: .init())
        let question = try #require(asked)
        lookups.leave(1, "a.test")
        #expect(question.ask() == nil)
        // A later caller makes a new lookup, and an old answer is not taken for the new one.
        let askedAnew = lookups.wait(2, for: "a.test", of: .init())
        let second = try #require(askedAnew)
        #expect(lookups.answered(question, [], at: start).isEmpty)
        #expect(lookups.answered(second, [], at: start) == [2])
        #expect(lookups.known("a.test", at: start) == nil)
    }

    @Test(arguments: [NameLookups.Owner(group: UUID()), NameLookups.Owner(subgroup: UUID())])
    func eachOwnerQueuesAQuestionThatIsAskedOnce(other: NameLookups.Owner) throws {
        var lookups = NameLookups()
        let asked = lookups.wait(1, for: "127.0.0.1", of: .init())
        let question = try #require(asked)
        let askedToo = lookups.wait(2, for: "127.0.0.1", of: other)
        #expect(askedToo === question)
        let isAskedAgain = lookups.wait(3, for: "127.0.0.1", of: other) != nil
        #expect(!isAskedAgain)
        #expect(question.ask() == ["127.0.0.1"])
        #expect(question.ask() == nil)
        #expect(lookups.answered(question, ["127.0.0.1"], at: start) == [1, 2, 3])
    }

    /// The name has a label of more than 63 bytes (RFC 1035 §2.3.4), for which no name server is
    /// asked.
    @Test func aGroupWhoseNamesHangDoesNotHoldBackAnotherThatWaitsForTheSameName() async throws {
        let names = try BlockingPool<UUID?>(name: "names-test", threadsMax: 2, perKeyMax: 1)
        let (hanging, other) = (UUID(), UUID())
        let gate = DispatchGroup()
        gate.enter()
        defer { gate.leave() }
        names.run(for: hanging) { gate.wait() }
        let loop = try CurlLoop(
            name: "names-test",
            connectionsMax: 8,
            kept: KeptConnections(countMax: 8),
            names: names
        )
        defer { loop.stop() }
        let host = String(repeating: "a", count: 64) + ".test"
        let sinks = [RecordingSink(), RecordingSink()]
        for (group, sink) in zip([hanging, other], sinks) {
            var request = CurlRequest(url: "http://\(host)/", egress: .everywhere)
            request.group = group
            loop.start(request, sink: sink)
        }
        for sink in sinks {
            _ = await sink.result
            #expect(sink.record.results.first?.code == .couldNotResolve)
        }
    }

    @Test func subgroupsTakeTurns() async throws {
        let names = try BlockingPool<UUID?>(name: "names-test", threadsMax: 1)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        names.run(for: nil) { gate.wait() }
        let loop = try CurlLoop(
            name: "names-test",
            connectionsMax: 8,
            kept: KeptConnections(countMax: 8),
            names: names
        )
        defer { loop.stop() }
        let order = Mutex<[Int]>([])
        let (group, many, few) = (UUID(), UUID(), UUID())
        for (number, subgroup) in [many, many, many, few].enumerated() {
            let host = String(repeating: "a", count: 64) + "\(number).test"
            var request = CurlRequest(url: "http://\(host)/", egress: .everywhere)
            request.group = group
            request.subgroup = subgroup
            let sink = RecordingSink(whenFinished: { order.withLock { $0.append(number) } })
            loop.start(request, sink: sink)
        }
        try await eventually("all wait") { names.load.waiting == 4 }
        gate.signal()
        try await eventually("all have ended") { order.withLock { $0.count } == 4 }
        #expect(order.withLock { $0 } == [0, 3, 1, 2])
    }

    @Test func aSubgroupWhoseNamesHangDoesNotHoldBackAnotherOfItsGroup() async throws {
        let names = try CurlLoop.namePool()
        let (group, hanging, other) = (UUID(), UUID(), UUID())
        let gate = DispatchGroup()
        gate.enter()
        defer { gate.leave() }
        for _ in 0..<100 { names.run(for: group, part: hanging) { gate.wait() } }
        let loop = try CurlLoop(
            name: "names-test",
            connectionsMax: 8,
            kept: KeptConnections(countMax: 8),
            names: names
        )
        defer { loop.stop() }
        let host = String(repeating: "a", count: 64) + ".test"
        var request = CurlRequest(url: "http://\(host)/", egress: .everywhere)
        request.group = group
        request.subgroup = other
        let sink = RecordingSink()
        loop.start(request, sink: sink)
        #expect(await sink.result?.code == .couldNotResolve)
    }

    @Test(
        arguments: [
            ("http://a.test/", "a.test"), ("http://A.TEST:8080/", "a.test"),
            ("http://b\u{FC}cher.test/", "xn--bcher-kva.test"), ("http://127.0.0.1/", nil),
            ("http://127.1/", nil), ("http://[::1]/", nil), ("http://localhost/", nil),
            ("http://a.localhost/", nil),
        ] as [(String, String?)]
    )
    func whatHasToBeLookedUp(url: String, name: String?) throws {
        #expect(try CurlURL(url).nameToResolve == name)
    }
}
