import Foundation
import Postgres
import TransferModel

extension StoredRow {
    func tenant(_ column: String) throws(StoreError) -> TenantID {
        TenantID(try decode(column, as: UUID.self))
    }

    func session(_ column: String) throws(StoreError) -> SessionID {
        SessionID(try decode(column, as: UUID.self))
    }

    func task(_ column: String) throws(StoreError) -> TaskID {
        TaskID(try decode(column, as: UUID.self))
    }

    func subscription(_ column: String) throws(StoreError) -> SubscriptionID {
        SubscriptionID(try decode(column, as: UUID.self))
    }

    func delivery(_ column: String) throws(StoreError) -> DeliveryID {
        DeliveryID(try decode(column, as: UUID.self))
    }

    func hostKey(_ column: String) throws(StoreError) -> HostKey {
        HostKey(rawValue: try decode(column))
    }

    func client(_ column: String) throws(StoreError) -> ClientID {
        ClientID(stored: try decode(column, as: String.self))
    }

    func clientIfPresent(_ column: String) throws(StoreError) -> ClientID? {
        try decodeIfPresent(column, as: String.self).map { ClientID(stored: $0) }
    }

    func fence(_ column: String) throws(StoreError) -> Fence {
        Fence(rawValue: try decode(column, as: Int64.self))
    }

    func milliseconds(_ column: String) throws(StoreError) -> Duration {
        .milliseconds(try decode(column, as: Int64.self))
    }

    func url(
        _ column: String,
        at place: @autoclosure () -> RowSealer.Place
    ) throws(StoreError) -> String {
        try sealer.open(url: decode(column), at: place())
    }

    /// Returns the ranges of an `int8multirange` read as text; nil for NULL.
    func byteRanges(_ column: String) throws(StoreError) -> ByteRangeSet? {
        guard let text = try decodeIfPresent(column, as: String.self) else { return nil }
        guard let ranges = ByteRangeSet(text: text) else {
            throw StoreError(decoding: "column \(column) holds no ranges of bytes")
        }
        return ranges
    }

    func clientString(_ column: String) throws(StoreError) -> ClientString? {
        try decodeIfPresent(column, as: String.UTF8View.self)
            .map { ClientString(stored: String($0)) }
    }

    /// Returns a value of an enumeration that the database stores by its raw value.
    func word<Value: RawRepresentable<String>>(
        _ column: String,
        as type: Value.Type = Value.self
    ) throws(StoreError) -> Value {
        guard let value = Value(rawValue: try decode(column, as: String.self)) else {
            throw StoreError(decoding: "column \(column) holds no \(Value.self)")
        }
        return value
    }

    func destination(
        path: String = "destination_path",
        overwrite: String = "destination_overwrite"
    ) throws(StoreError) -> Destination? {
        guard let path = try decodeIfPresent(path, as: String.self) else { return nil }
        return Destination(storedPath: path, overwrite: try decode(overwrite, as: Bool.self))
    }

    /// Returns the path of a completed download's result.
    func resultPath(of task: TaskID) throws(StoreError) -> String {
        let part = try decodeIfPresent("part_fence").map(Fence.init(rawValue:))
        guard
            let path = ResultLocation.path(of: task, destination: try destination(), part: part)
        else { throw StoreError(decoding: "a completed download has no place") }
        return path
    }

    /// Returns the path of a part file that came with resume data; nil for any other.
    func sourcePath(fence: Fence) throws(StoreError) -> String? {
        guard let task = try decodeIfPresent("source_task_id", as: UUID.self) else { return nil }
        return ResultLocation.partPath(
            of: TaskID(task),
            destination: try destination(
                path: "source_destination_path",
                overwrite: "source_destination_overwrite"
            ),
            fence: fence
        )
    }

    /// Returns the session's limit.
    func maxConnectionsPerHost() throws(StoreError) -> Int? {
        try decodeIfPresent("max_connections_per_host", as: Int16.self).map(Int.init)
    }

    /// Returns the states of tasks in an array.
    func states(_ column: String) throws(StoreError) -> [TransferState] {
        try decode(column, as: [String].self).map { word throws(StoreError) in
            guard let state = TransferState(rawValue: word) else {
                throw StoreError(decoding: "column \(column) holds an unknown state")
            }
            return state
        }
    }

    /// Returns the scopes of a key.
    ///
    /// A name of a later release allows nothing here.
    func scopes(_ column: String) throws(StoreError) -> Set<KeyScope> {
        Set(try decode(column, as: [String].self).compactMap(KeyScope.init))
    }

    /// Returns a filter of events; nil for every kind.
    func eventFilter(_ column: String) throws(StoreError) -> EventFilter? {
        try decodeIfPresent(column, as: [String].self).map { EventFilter(stored: $0) }
    }
}
