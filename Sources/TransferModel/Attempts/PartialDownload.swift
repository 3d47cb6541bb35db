package import Foundation

/// A part file that a later attempt of its task may go on with.
package struct PartialDownload: Equatable, Sendable {
    /// Names the file, and so the attempt that began it.
    package let partFence: Fence
    /// Where the file lies in the tenant's container when it came with resume data; nil for the
    /// task's own place.
    package var sourcePath: String?
    /// The boot of the machine in which it was written.
    package let bootID: UUID
    /// Which bytes of the file are there, when it was written in segments; nil for one that was
    /// written from its begin on.
    package var ranges: ByteRangeSet?
    /// Bytes that survive a power cut: from the begin on, or of ``ranges`` when it is all of them.
    package var bytesDurable: Int64
    /// The length of the whole.
    package let bytesTotal: Int64
    /// Which bytes they are.
    package let validator: EntityValidator

    package init(
        partFence: Fence,
        sourcePath: String? = nil,
        ranges: ByteRangeSet? = nil,
        bootID: UUID,
        bytesDurable: Int64,
        bytesTotal: Int64,
        validator: EntityValidator
    ) {
        self.ranges = ranges
        self.partFence = partFence
        self.sourcePath = sourcePath
        self.bootID = bootID
        self.bytesDurable = bytesDurable
        self.bytesTotal = bytesTotal
        self.validator = validator
    }

    /// Which bytes of the file may be gone on with on a machine in boot `bootID`.
    ///
    /// Never all of them: the last byte is asked for again, so that the origin has its say.
    ///
    /// - Parameters:
    ///   - size: the file's.
    ///   - isSegmented: whether it was ever written elsewhere than at its end, also after this was
    ///     stored; then its size tells nothing.
    ///   - bootID: the running boot of the machine.
    /// - Returns: the bytes; empty for a file that is not gone on with.
    package func rangesUsable(size: Int64, isSegmented: Bool, bootID: UUID) -> ByteRangeSet {
        guard size <= bytesTotal else { return ByteRangeSet() }
        let isSameBoot = bootID == self.bootID
        guard var ranges else {
            let trusted = isSameBoot && !isSegmented ? size : min(size, bytesDurable)
            return ByteRangeSet(0..<max(0, min(trusted, bytesTotal - 1)))
        }
        guard ranges.upperBound <= size, isSameBoot || ranges.count <= bytesDurable else {
            return ByteRangeSet()
        }
        if ranges.count == bytesTotal { ranges.remove(bytesTotal - 1..<bytesTotal) }
        return ranges
    }
}
