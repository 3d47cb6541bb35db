import EventLoop
import TransferContainer
import TransferModel

/// Compares the checksums of whole files with what they must be.
///
/// Confined to a thread of its own: of a file that was gone on with, the bytes have to be read again.
actor Verifier {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: EventLoop) { self.loop = loop }

    /// What is wrong with a file, or nil.
    func failure(of part: PartFile, wanted: [Checksum]) -> TransferFailure? {
        var hasher = ContentHasher(Set(wanted.map(\.algorithm)))
        do throws(StorageError) {
            try part.hash(into: &hasher)
        } catch {
            return error.failure
        }
        return Self.failure(wanted: wanted, found: hasher.finalize())
    }

    /// What is wrong with a file of these checksums, or nil.
    static func failure(wanted: [Checksum], found: [Checksum]) -> TransferFailure? {
        guard let wrong = wanted.first(where: { !found.contains($0) }) else { return nil }
        let actual = found.first { $0.algorithm == wrong.algorithm }.map { "\($0)" } ?? "unknown"
        return TransferFailure(
            .checksumMismatch,
            "The file's \(wrong.algorithm.rawValue) is \(actual), not \(wrong)."
        )
    }
}
