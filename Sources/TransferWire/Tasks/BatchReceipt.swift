/// The answer to a batch: one receipt for each task, in the order of the request.
package struct BatchReceipt: Codable, Sendable {
    /// The receipts in the order of the request.
    package let items: [TaskReceipt]

    package init(items: [TaskReceipt]) { self.items = items }
}
