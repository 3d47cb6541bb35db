import TransferModel

/// A row of `client_string_change`.
package struct ClientStringPosition: Sendable {
    let task: TaskID
    let sequence: Int64
}
