import CLinux
import Foundation
import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
@testable import TransferHTTP
import TransferModel

/// What takes long runs on threads that give way to all others.
@Suite struct LongWorkTests {
    private let resources = RequestResources(
        of: SharedResources(bodyBytesMax: 1 << 20) { .unknown },
        for: TenantID(UUID()),
        bodyTimeout: .seconds(600)
    )

    /// SCHED_BATCH, which Glibc's module does not have: sched(7).
    private static let batchPolicy: Int32 = 3
    /// Kernels before Linux 6.12 have no slice that a thread can choose, and say 0.
    private static let slices = [0, Int64(CLINUX_LONGEST_TIME_SLICE)]

    /// Whether the calling thread gives way, and interrupts nobody as it wakes.
    @Sendable private static func givesWay() -> Bool {
        getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) == CLINUX_LOW_PRIORITY_NICE
            && sched_getscheduler(0) == batchPolicy && slices.contains(clinux_time_slice(0))
    }

    private func givesWay(storing taskCount: Int) async throws -> Bool {
        try await RequestResources.$current.withValue(resources) {
            try await RequestResources.storing(taskCount) {
                // Also what the work waits for, and what comes after it.
                let isBefore = Self.givesWay()
                await Task.yield()
                return isBefore && Self.givesWay()
            }
        }
    }

    @Test func largeSubmissionsAreStoredWhereTheyGiveWay() async throws {
        #expect(try await givesWay(storing: 1000))
        #expect(!Self.givesWay())
    }

    @Test func smallSubmissionsAreStoredWhereTheyAre() async throws {
        #expect(try await !givesWay(storing: 1))
    }

    private func givesWay(decoding byteCount: Int) async throws -> Bool {
        try await RequestResources.$current.withValue(resources) {
            try await RequestResources.decoding(byteCount, Self.givesWay)
        }
    }

    @Test func largeBodiesAreDecodedWhereTheyGiveWay() async throws {
        #expect(try await givesWay(decoding: 1 << 20))
        #expect(!Self.givesWay())
    }

    /// Returns for each of four pieces of a body whether it was taken where that gives way.
    private func givesWay(gathering headers: HTTPFields) async throws -> [Bool] {
        let pieceBytes = RequestResources.smallBodyBytesMax * 2 / 3
        let taken = Mutex<[Bool]>([])
        let pieces = AsyncStream<ByteBuffer> {
            let count = taken.withLock { taken in
                taken.append(Self.givesWay())
                return taken.count
            }
            return count > 4 ? nil : ByteBuffer(repeating: UInt8(ascii: " "), count: pieceBytes)
        }
        var headers = headers
        headers[.contentType] = "application/json"
        if headers[.contentLength] != nil { headers[.contentLength] = "\(4 * pieceBytes)" }
        let request = Request(
            head: HTTPRequest(
                method: .post,
                scheme: nil,
                authority: nil,
                path: "/",
                headerFields: headers
            ),
            body: RequestBody(asyncSequence: pieces)
        )
        let count = try await RequestResources.$current.withValue(resources) {
            try await request.jsonBody().count
        }
        #expect(count == 4 * pieceBytes)
        return taken.withLock { Array($0.prefix(4)) }
    }

    @Test func largeBodiesAreGatheredWhereThatGivesWay() async throws {
        let announced = try await givesWay(gathering: [.contentLength: "all"])
        #expect(announced == [true, true, true, true])
        // That such a body is large shows with its second piece.
        let chunked = try await givesWay(gathering: [:])
        #expect(chunked == [false, false, true, true])
        #expect(!Self.givesWay())
    }

    @Test func smallBodiesAreDecodedWhereTheyAre() async throws {
        #expect(try await !givesWay(decoding: 1 << 10))
    }

    /// The value of any body, which tells where it was decoded.
    private struct Place: Decodable, Sendable {
        let givesWay: Bool

        init(from decoder: any Decoder) { givesWay = LongWorkTests.givesWay() }
    }

    /// Whatever the route: a submission as well as a change.
    @Test(arguments: [(1 << 10, false), (1 << 20, true)])
    func theValueOfALargeBodyIsReadWhereThatGivesWay(byteCount: Int, givesWay: Bool) async throws {
        let body = Array("[\(String(repeating: " ", count: byteCount))]".utf8)
        let place = try await RequestResources.$current.withValue(resources) {
            try await decoded(Place.self, from: body)
        }
        #expect(place.givesWay == givesWay)
    }

    /// Where the fingerprint is made does not show, but that it had its turn for that.
    @Test(arguments: [(1 << 10, 0), (1 << 20, 1)])
    func theFingerprintOfALargeBodyIsLargeWork(byteCount: Int, inHand: Int) async throws {
        let shared = SharedResources(bodyBytesMax: 1 << 20) { .unknown }
        let tenant = TenantID(UUID())
        let own = RequestResources(of: shared, for: tenant, bodyTimeout: .seconds(600))
        let body = [UInt8](repeating: UInt8(ascii: " "), count: byteCount)
        var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/")
        head.headerFields[.idempotencyKey] = "once"
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body)))
        let key = try await RequestResources.$current.withValue(own) {
            try await IdempotencyKey(request, body: body)
        }
        #expect(shared.largeWork.inHand(of: tenant) == inHand)
        let inPlace = try await IdempotencyKey(request, body: body)
        #expect(key != nil && key?.requestSHA256 == inPlace?.requestSHA256)
        let line = TaskLines.Line(number: 1, bytes: body)
        own.pauseWork()
        let parts = try #require(try PartIdempotency(request))
        _ = try await RequestResources.$current.withValue(own) {
            try await parts.key(ofPart: 0, lines: [line], byteCount)
        }
        #expect(shared.largeWork.inHand(of: tenant) == inHand)
    }
}
