package import Foundation

/// A part file from which a later attempt of its task may continue.
package struct PartialDownload: Equatable, Sendable {
    /// The fence that names the file, and so the attempt that created it.
    package let partFence: Fence
    /// The file's path in the tenant's container when it came with resume data; nil when it lies at
    /// the task's own place.
    package var sourcePath: String?
    /// The machine's boot during which the file was written.
    package let bootID: UUID
    /// The bytes of the file that are present, where it was written in segments or may be from now
    /// on; nil when it was written from its start on.
    package var ranges: ByteRangeSet?
    /// The bytes that survive a power cut: from the start on, or of ``ranges`` when it is all of
    /// them.
    package var bytesDurable: Int64
    /// The length of the whole file.
    package let bytesTotal: Int64
    /// The validator of the representation that the bytes belong to.
    package let validator: EntityValidator
    /// The coding of the bytes, as `Content-Encoding` has named it; nil without one.
    package var coding: String?
    /// Whether the bytes may be from elsewhere than the task's URL, as after a redirect, so that
    /// only an entity tag tells whether a later response is of the same file.
    package var mayBeOfAnother: Bool
    /// Whether they came with resume data of a task whose URL, up to its query, is another.
    package var isOfOtherURL: Bool

    package init(
        partFence: Fence,
        sourcePath: String? = nil,
        ranges: ByteRangeSet? = nil,
        bootID: UUID,
        bytesDurable: Int64,
        bytesTotal: Int64,
        validator: EntityValidator,
        coding: String? = nil,
        mayBeOfAnother: Bool = false,
        isOfOtherURL: Bool = false
    ) {
        self.ranges = ranges
        self.partFence = partFence
        self.sourcePath = sourcePath
        self.bootID = bootID
        self.bytesDurable = bytesDurable
        self.bytesTotal = bytesTotal
        self.validator = validator
        self.coding = coding
        self.mayBeOfAnother = mayBeOfAnother
        self.isOfOtherURL = isOfOtherURL
    }

    /// Returns the bytes of the file from which an attempt may continue on a machine in boot
    /// `bootID`.
    ///
    /// They are never all bytes: the last one is requested again, so that the origin confirms the
    /// file.
    ///
    /// - Parameters:
    ///   - size: the file's.
    ///   - isSegmented: whether the file may have been written other than at its end, also after
    ///     this value was stored; then its size proves nothing, and ``ranges`` count. Otherwise it
    ///     never was, or has become whole and durable.
    ///   - bootID: the current boot of the machine.
    /// - Returns: the bytes; empty for a file that has to start over.
    package func rangesUsable(size: Int64, isSegmented: Bool, bootID: UUID) -> ByteRangeSet {
        guard size <= bytesTotal else { return ByteRangeSet() }
        let isSameBoot = bootID == self.bootID
        guard isSegmented, var ranges else {
            let isSizeTrusted = isSameBoot && !isSegmented
            // Of ranges with holes, or without the first byte, the durable bytes are no front.
            let hasHoles = self.ranges.map { $0.prefixCount < $0.count } ?? false
            guard isSizeTrusted || !hasHoles else { return ByteRangeSet() }
            let trusted = isSizeTrusted ? size : min(size, bytesDurable)
            return ByteRangeSet(0..<max(0, min(trusted, bytesTotal - 1)))
        }
        guard ranges.upperBound <= size, isSameBoot || ranges.count <= bytesDurable else {
            return ByteRangeSet()
        }
        if ranges.count == bytesTotal { ranges.remove(bytesTotal - 1..<bytesTotal) }
        return ranges
    }
}
