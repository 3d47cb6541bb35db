import Postgres
import TransferModel

/// Columns that hold a document.
extension StoredRow {
    func headers(
        _ column: String,
        at place: @autoclosure () -> RowSealer.Place
    ) throws(StoreError) -> [HTTPHeader] {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return [] }
        return try sealer.open(headers: json.text, at: place())
    }

    func failure(_ column: String) throws(StoreError) -> TransferFailure? {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return nil }
        return try StoredJSON.failure(json.text)
    }

    /// Returns options; none where nothing is stored.
    func options(_ column: String) throws(StoreError) -> TransferOptions {
        try optionsIfPresent(column) ?? TransferOptions()
    }

    /// Returns the options; nil for NULL, which is none.
    func optionsIfPresent(_ column: String) throws(StoreError) -> TransferOptions? {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return nil }
        return try StoredJSON.options(json.text)
    }

    /// Returns the options of a task, in which URLs are sealed.
    func options(
        _ column: String,
        at place: @autoclosure () -> RowSealer.Place
    ) throws(StoreError) -> TransferOptions {
        var options = try options(column)
        options.mirrors = try options.mirrors?.map { url throws(StoreError) in
            try sealer.open(url: url, at: place())
        }
        return options
    }

    /// Returns the recurrence in a column of JSON; nil for NULL.
    func recurrence(_ column: String) throws(StoreError) -> Recurrence? {
        guard let json = try decodeIfPresent(column, as: JSONText.self) else { return nil }
        return try StoredJSON.decode(StoredRecurrence.self, json.text).recurrence()
    }

    /// Returns the metrics in `measurements`; nil without any.
    func metrics() throws(StoreError) -> AttemptMetrics? {
        guard let text = try decodeIfPresent("measurements", as: String.self) else { return nil }
        return try StoredMetrics.metrics(text)
    }

    /// Returns the result whose head is in `response_head`; nil without one.
    func result(bytesReceived: Int64) throws(StoreError) -> TransferResult? {
        guard let head = try decodeIfPresent("response_head", as: String.self) else { return nil }
        return try StoredResponseHead.result(
            head,
            httpStatus: Int(try decode("http_status", as: Int16.self)),
            bytesReceived: bytesReceived
        )
    }

    /// Returns the details of an event whose kind has some.
    func details<Value: Decodable>(as type: Value.Type) throws(StoreError) -> Value {
        try json("details", as: type)
    }

    /// Returns the value of a column of JSON that is not NULL.
    func json<Value: Decodable>(
        _ column: String,
        as type: Value.Type
    ) throws(StoreError) -> Value {
        try StoredJSON.decode(type, decode(column, as: JSONText.self).text)
    }
}
