import Postgres
import TransferModel

/// SQL for what is stored of a part file, in `partial` and in `resume_data`.
enum StoredPart {
    /// The columns, in the order of ``arrays(of:)``.
    static let columns: Query = """
        part_fence, ranges, boot_id, bytes_durable, bytes_total, validator, coding,
        may_be_of_another
        """

    /// Returns the columns of a `row`.
    static func columns(of row: Query) -> Query {
        """
        \(row).part_fence, \(row).ranges, \(row).boot_id, \(row).bytes_durable,
        \(row).bytes_total, \(row).validator, \(row).coding, \(row).may_be_of_another
        """
    }

    /// Returns an array for each column, for `unnest`.
    static func arrays(of parts: [PartialDownload]) -> Query {
        """
        \(parts.map(\.partFence.rawValue)), \(parts.map(\.ranges?.text))::int8multirange[],
        \(parts.map(\.bootID)), \(parts.map(\.bytesDurable)), \(parts.map(\.bytesTotal)),
        \(parts.map(\.validator.value)), \(parts.map(\.coding)), \(parts.map(\.mayBeOfAnother))
        """
    }
}
