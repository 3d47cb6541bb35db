import TransferModel

/// The position of a row in `client_string_change`.
package struct ClientStringPosition: Sendable {
    let task: TaskID
    let sequence: Int64
}
