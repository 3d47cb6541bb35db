import Foundation
import Glibc
import Testing
@testable import TransferHTTP
import TransferModel

/// What takes long runs on threads that give way to all others.
@Suite struct LongWorkTests {
    private let resources = RequestResources(
        of: SharedResources(bodyBytesMax: 1 << 20) { .unknown },
        for: TenantID(UUID()),
        bodyTimeout: .seconds(1)
    )

    /// Whether the calling thread gives way.
    @Sendable private static func givesWay() -> Bool {
        getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) == 5
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

    @Test func smallBodiesAreDecodedWhereTheyAre() async throws {
        #expect(try await !givesWay(decoding: 1 << 10))
    }
}
