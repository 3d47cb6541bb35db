/// The answer to a batch: one receipt for each task, in the order of the request.
public struct BatchReceipt: Codable, Sendable {
    /// The receipts in the order of the request.
    public let items: [TaskReceipt]

    /// Creates the value from its parts.
    public init(items: [TaskReceipt]) { self.items = items }
}
