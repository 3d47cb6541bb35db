import Crypto
import Curl
import Synchronization

/// Hashes a body as it arrives.
final class DigestSink: CurlSink {
    private struct State {
        var status = 0
        var byteCount: Int64 = 0
        var hash = SHA256()
        var handler: (@Sendable (Result<ContentDigest, CurlError>) -> Void)?
    }

    private let state = Mutex(State())

    func whenFinished(_ handler: @escaping @Sendable (Result<ContentDigest, CurlError>) -> Void) {
        state.withLock { $0.handler = handler }
    }

    func receive(head: ResponseHead) -> SinkVerdict {
        state.withLock { $0.status = head.status }
        return .proceed
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        state.withLock { state in
            state.byteCount += Int64(body.count)
            state.hash.update(bufferPointer: body)
        }
        return .proceed
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let state = state.withLock { $0 }
        state.handler?(
            result.map { _ in
                ContentDigest(
                    status: state.status,
                    byteCount: state.byteCount,
                    sha256: state.hash.finalize()
                )
            }
        )
    }
}
