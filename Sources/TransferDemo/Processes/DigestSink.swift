import Crypto
import Curl
import Synchronization

/// What is known of content that was read and not kept.
struct ContentDigest: Sendable {
    let status: Int
    let byteCount: Int64
    let sha256: SHA256.Digest

    /// The hash as `sha256sum` prints it.
    var hexadecimal: String {
        sha256.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
}

/// Hashes a body as it comes.
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
