import CLinux
import ServiceLifecycle

/// Gives memory back that a burst of requests needed: the allocator keeps what it was given once.
package struct HeapTrimmer: Service {
    /// Between two looks.
    private static let interval: Duration = .seconds(2)
    /// So much may lie unused, which the next requests then find.
    private static let unusedBytesMax = 16 * 1024 * 1024
    /// Heaps that threads share: each keeps what it had at its largest.
    private static let arenaCount: Int32 = 4

    /// Sets how the allocator works; before there are threads.
    package static func tune() { clinux_tune_heap(arenaCount) }

    package init() {}

    package func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                if clinux_unused_heap_bytes() > Self.unusedBytesMax { clinux_trim_heap() }
            }
        }
    }
}
