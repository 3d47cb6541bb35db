import Postgres
import TransferModel

extension StoredJSON {
    /// Returns the options as `jsonb`, by their names in the API; nil for options that say nothing.
    static func text(of options: TransferOptions) throws(StoreError) -> String? {
        guard !options.isEmpty else { return nil }
        var values: [String: OptionValue] = [:]
        for option in TransferOptions.all { values[option.name] = option.value(options) }
        return try encode(values)
    }

    /// Returns the options of a task as `jsonb`, with its URLs sealed.
    static func text(
        of options: TransferOptions,
        _ sealer: RowSealer,
        at place: @autoclosure () -> RowSealer.Place
    ) throws(StoreError) -> String? {
        guard let mirrors = options.mirrors else { return try text(of: options) }
        var options = options
        options.mirrors = try mirrors.map { url throws(StoreError) in
            try sealer.seal(url: url, at: place())
        }
        return try text(of: options)
    }

    static func options(_ text: String) throws(StoreError) -> TransferOptions {
        let values = try decode([String: OptionValue].self, text)
        var options = TransferOptions()
        for option in TransferOptions.all {
            guard let value = values[option.name] else { continue }
            do {
                try option.restore(value, in: &options)
            } catch {
                throw StoreError(decoding: "the stored option \(option.name) has no value")
            }
        }
        return options
    }
}
