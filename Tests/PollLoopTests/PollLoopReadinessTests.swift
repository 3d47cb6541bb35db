import PollLoop
import Glibc
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PollLoopReadinessTests {
    @Test func tellsThatBytesCanBeRead() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let pipe = Pipe()
        let readiness = await withCheckedContinuation { continuation in
            loop.execute {
                loop.watch(pipe.reader, for: .readable) { readiness in
                    loop.deregister(pipe.reader)
                    continuation.resume(returning: readiness)
                }
                pipe.send(1)
            }
        }
        #expect(readiness == .readable)
    }

    @Test func tellsThatPeerHasHungUp() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let pipe = Pipe()
        let readiness = await withCheckedContinuation { continuation in
            loop.execute {
                loop.watch(pipe.reader, for: []) { readiness in
                    loop.deregister(pipe.reader)
                    continuation.resume(returning: readiness)
                }
                pipe.closeWriter()
            }
        }
        #expect(!readiness.isDisjoint(with: .failed))
    }

    @Test func secondRegistrationReplacesFirst() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let pipe = Pipe()
        let handler: String = await withCheckedContinuation { continuation in
            loop.execute {
                loop.watch(pipe.reader, for: .readable) { _ in
                    continuation.resume(returning: "first")
                }
                loop.watch(pipe.reader, for: .readable) { _ in
                    loop.deregister(pipe.reader)
                    continuation.resume(returning: "second")
                }
                pipe.send(1)
            }
        }
        #expect(handler == "second")
    }

    @Test func deregisteredDescriptorIsQuiet() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let pipe = Pipe()
        let wasTold = Mutex(false)
        await withCheckedContinuation { continuation in
            loop.execute {
                loop.watch(pipe.reader, for: .readable) { _ in
                    wasTold.withLock { $0 = true }
                }
                loop.deregister(pipe.reader)
                loop.deregister(pipe.reader)
                pipe.send(1)
                loop.schedule(after: .milliseconds(5)) { continuation.resume() }
            }
        }
        #expect(!wasTold.withLock { $0 })
    }

    @Test func descriptorClosedUnawaresMayComeBack() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let (first, second) = (Pipe(), Pipe())
        let handler: String = await withCheckedContinuation { continuation in
            loop.execute {
                loop.watch(first.reader, for: .readable) { _ in
                    continuation.resume(returning: "first")
                }
                // The number now refers to another pipe, about which the loop was not told.
                dup2(second.reader, first.reader)
                loop.watch(first.reader, for: .readable) { _ in
                    loop.deregister(first.reader)
                    continuation.resume(returning: "second")
                }
                second.send(1)
            }
        }
        #expect(handler == "second")
    }

    @Test func eventOfClosedDescriptorDoesNotReachSuccessor() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let (first, second, third) = (Pipe(), Pipe(), Pipe())
        let told = Mutex<[String]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                // Both are ready in one batch; whichever comes first replaces the other.
                let replace: @Sendable (Pipe) -> Void = { other in
                    told.withLock { $0.append("ready") }
                    loop.deregister(first.reader)
                    loop.deregister(second.reader)
                    dup2(third.reader, other.reader)
                    loop.watch(other.reader, for: .readable) { _ in
                        told.withLock { $0.append("successor") }
                    }
                    loop.schedule(after: .milliseconds(5)) { continuation.resume() }
                }
                loop.watch(first.reader, for: .readable) { _ in replace(second) }
                loop.watch(second.reader, for: .readable) { _ in replace(first) }
                first.send(1)
                second.send(1)
            }
        }
        #expect(told.withLock { $0 } == ["ready"])
    }

    @Test func badDescriptorIsAnError() async throws {
        let loop = try PollLoop(name: "ready")
        defer { loop.stop() }
        let code = await loop.run {
            do throws(PollLoopError) {
                try loop.register(-1, for: .readable) { _ in }
                return Int32(0)
            } catch {
                return error.errno
            }
        }
        #expect(code == EBADF)
    }
}

/// A pipe that closes its ends.
private final class Pipe: Sendable {
    let reader: Int32
    private let writer: Mutex<Int32?>

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "the test process has no descriptor left for a pipe")
        reader = ends[0]
        writer = Mutex(ends[1])
    }

    deinit {
        close(reader)
        closeWriter()
    }

    func send(_ byte: UInt8) {
        writer.withLock { writer in
            var byte = byte
            if let writer { _ = write(writer, &byte, 1) }
        }
    }

    func closeWriter() {
        writer.withLock { writer in
            if let writer { close(writer) }
            writer = nil
        }
    }
}

extension PollLoop {
    /// Registers a watch, and records an issue when that fails.
    fileprivate func watch(
        _ descriptor: Int32,
        for interest: Readiness,
        handler: @escaping (Readiness) -> Void
    ) {
        do {
            try register(descriptor, for: interest, handler: handler)
        } catch {
            Issue.record(error)
        }
    }
}
