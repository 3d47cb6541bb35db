import CLinux
import ServiceLifecycle

/// A service that returns memory after a burst of requests, which the allocator would otherwise
/// keep.
package struct HeapTrimmer: Service {
    /// The time between two checks.
    private static let interval: Duration = .seconds(2)
    /// The bytes that may stay unused, for the next requests.
    private static let unusedBytesMax = 16 * 1024 * 1024
    /// The number of heaps that threads share, each of which keeps its largest size.
    private static let arenaCount: Int32 = 4

    /// Tunes the allocator; to be called before there are threads.
    package static func tune() { clinux_tune_heap(arenaCount) }

    package init() {}

    /// Returns unused memory until the service shuts down.
    package func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                if clinux_unused_heap_bytes() > Self.unusedBytesMax { clinux_trim_heap() }
            }
        }
    }
}
