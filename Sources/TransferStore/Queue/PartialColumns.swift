import Foundation
import TransferModel

/// The parts that ends leave; a table of their own, because few ends leave one.
struct PartialColumns {
    let place: Int64
    let partFence: Int64
    let ranges: String?
    let bootID: UUID
    let bytesDurable: Int64
    let bytesTotal: Int64
    let validator: String
    let coding: String?
    let mayBeOfAnother: Bool

    init(_ partial: PartialDownload, place: Int64) {
        self.place = place
        partFence = partial.partFence.rawValue
        ranges = partial.ranges?.text
        bootID = partial.bootID
        bytesDurable = partial.bytesDurable
        bytesTotal = partial.bytesTotal
        validator = partial.validator.value
        coding = partial.coding
        mayBeOfAnother = partial.mayBeOfAnother
    }
}
