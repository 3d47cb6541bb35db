import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The digests that a client sends with the bytes of an upload.
extension BodyTests {
    @Test(
        arguments: [
            "sha-256=:AAAA:", "sha-256=zz", "sha-256=:*:", "garbage", "sha=:AA==:, md5=:AA==:",
        ],
        ["Repr-Digest", "Content-Digest"]
    )
    func aDigestThatCannotBeReadIsRefused(value: String, field: String) async throws {
        try await Self.run { server, path, _ in
            let refused = try await Self.put(server, path, nil, [(field, value)])
            #expect(refused.status == 422)
            #expect(refused.faults == ["\(field) invalid_value"])
            #expect(refused.text.contains("32 bytes for `sha-256`"))
            let kept = try await server.send("GET", "\(path)/body")
            #expect(kept.fields["upload-offset"] == "0")
            let whole = try await Self.put(server, path)
            #expect(whole.status == 200)
        }
    }

    @Test func theDigestOfAnUnknownAlgorithmIsIgnored() async throws {
        try await Self.run { server, path, _ in
            let fields = [("Repr-Digest", "sha=:AAAA:, unixsum=:AA==:")]
            let whole = try await Self.put(server, path, nil, fields)
            #expect(whole.status == 200)
        }
    }

    @Test func aPartIsCheckedOnlyForTheDigestOfTheWhole() async throws {
        try await Self.run { server, path, _ in
            let first = try await Self.put(
                server,
                path,
                0..<100_000,
                [("Content-Digest", "garbage")]
            )
            #expect(first.status == 202)
            let last = try await Self.put(
                server,
                path,
                100_000..<300_000,
                [("Repr-Digest", "garbage")]
            )
            #expect(last.faults == ["Repr-Digest invalid_value"])
            let rest = try await Self.put(server, path, 100_000..<300_000)
            #expect(rest.status == 200)
        }
    }

    @Test(.enabled("mounting a file system needs root") { geteuid() == 0 })
    func whatIsThrownAwayTakesNoRoomFromItsRepetition() async throws {
        try await Self.runWithRoomForOneBody { server, path, _ in
            let another = "sha-256=:\(Data(count: 32).base64EncodedString()):"
            let refused = try await Self.put(server, path, nil, [("Content-Digest", another)])
            #expect(refused.code == .digestMismatch)
            #expect(try await Self.put(server, path).status == 200)
        }
    }
}
