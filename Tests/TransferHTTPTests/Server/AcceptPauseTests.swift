import Glibc
import NIOCore
import NIOPosix
import Testing
import TransferTestSupport

@testable import TransferHTTP

/// A listening channel whose connections cannot be accepted for a while.
@Suite(.timeLimit(.minutes(1))) struct AcceptPauseTests {
    private static let shortage = IOError(errnoCode: EMFILE, reason: "accept")

    @Test func theChannelStopsToListenForAMomentAndSaysSoOnce() async throws {
        let log = RecordingLog()
        let channel = try await Self.listening(log)
        for _ in 0..<3 {
            let pauses = try await channel.eventLoop.submit {
                channel.pipeline.fireErrorCaught(Self.shortage)
                return try channel.syncOptions?.getOption(.autoRead) == false
            }.get()
            #expect(pauses)
            try await eventually("it accepts again") {
                try await channel.getOption(.autoRead).get()
            }
        }
        #expect(log.lines.filter { $0.contains("connections not accepted") }.count == 1)
        try await channel.close()
    }

    @Test func aConnectionWhoseClientHasGonePausesNothing() async throws {
        let log = RecordingLog()
        let channel = try await Self.listening(log)
        let pauses = try await channel.eventLoop.submit {
            channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
            return try channel.syncOptions?.getOption(.autoRead) == false
        }.get()
        #expect(!pauses)
        #expect(log.lines.isEmpty)
        try await channel.close()
    }

    private static func listening(_ log: RecordingLog) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(logger: log.logger))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }
}
