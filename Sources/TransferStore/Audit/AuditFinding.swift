/// Something that is not as the audit log was written.
package enum AuditFinding: Sendable, Equatable {
    /// A block is not there.
    case blockMissing(Int64)
    /// A block is not as it was sealed, or does not follow the block before it.
    case blockAltered(Int64)
    /// The entries of a block are not as they were sealed: they are so many now.
    case entriesAltered(block: Int64, sealed: Int64, found: Int64)
    /// The last block is not the one that was sealed last.
    case endMissing(sealed: Int64, found: Int64)
    /// The entries of these blocks were removed before they were old enough.
    case removedEarly(first: Int64, last: Int64)
    /// The block that somebody kept elsewhere is not there, or is another one.
    case otherThanKept(Int64)
}

extension AuditFinding: CustomStringConvertible {
    package var description: String {
        switch self {
        case .blockMissing(let number): "block \(number) is missing"
        case .blockAltered(let number): "block \(number) was altered"
        case .entriesAltered(let block, let sealed, let found):
            "entries of block \(block) were altered: \(sealed) were sealed, \(found) are there"
        case .endMissing(let sealed, let found):
            "the chain ends with block \(found), and block \(sealed) was sealed last"
        case .removedEarly(let first, let last):
            "the entries of blocks \(first) to \(last) were removed before their retention was over"
        case .otherThanKept(let number): "block \(number) is not the one that was kept"
        }
    }
}
