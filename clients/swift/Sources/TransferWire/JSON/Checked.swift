/// A part of a body, decoded on its own so that all faults can be reported at once.
public struct Checked<Value: Decodable & Sendable>: Decodable, Sendable {
    /// The decoded value, or the fault that kept it from being decoded.
    public let result: Result<Value, FieldError>

    /// Decodes the value, and keeps the fault if that fails.
    public init(from decoder: any Decoder) throws {
        do {
            result = .success(try Value(from: decoder))
        } catch let error as FieldError {
            result = .failure(error)
        } catch let error as DecodingError {
            result = .failure(FieldError(error))
        } catch {
            // Foundation throws its own error for numbers and escapes without a value, and does not
            // say where they are.
            let pointer = JSONPointer.rendering(decoder.codingPath)
            result = .failure(
                FieldError(pointer: pointer, .invalidValue, "Holds what cannot be represented.")
            )
        }
    }

    /// Wraps a value that was read in another way.
    init(_ value: Value) { result = .success(value) }

    /// Wraps the fault of a value.
    init(fault: FieldError) { result = .failure(fault) }
}
