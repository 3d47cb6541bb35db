import Foundation

/// The decoder of request bodies, and of the answers to them.
public enum WireDecoder {
    /// The reason why a body has no value.
    public enum Failure: Error, Equatable, Sendable {
        /// The body is no JSON text; answered with 400.
        case malformed(String)
        /// The body is JSON that the operation does not accept; answered with 422.
        case invalid(FieldError)
    }

    /// The detail of a text that breaks off, or breaks the grammar where nothing better is known.
    public static let notJSON = "The body is not a JSON text (RFC 8259)."

    /// Returns the value of a body, in which no object may have two members with equal names.
    public static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: [UInt8]
    ) throws(Failure) -> Value {
        do {
            try JSONText.check(bytes)
        } catch {
            throw .malformed(detail(of: error))
        }
        let value = try decode(type, checked: bytes[...])
        if let place = JSONNames.repeated(in: bytes[...]) {
            throw .invalid(.repeatedName(at: place))
        }
        return value
    }

    /// Returns the value of an answer or a message of the service, which may be newer than this
    /// release: members without a name here are ignored.
    ///
    /// - Throws: `DecodingError` or ``FieldError`` when it is not the expected value.
    public static func decode<Value: Decodable>(
        _ type: Value.Type,
        fromAnswer bytes: [UInt8]
    ) throws -> Value {
        let decoder = JSONDecoder()
        if let key = CodingUserInfoKey.answer { decoder.userInfo[key] = true }
        return try decoder.decode(type, from: Data(bytes))
    }

    /// Returns the ranges of the elements of a body that is an array, `max` and one of too many;
    /// nil when it is something else.
    static func elements(of bytes: [UInt8], max: Int) throws(Failure) -> [Range<Int>]? {
        do {
            return try JSONText.elements(of: bytes, max: max)
        } catch {
            throw .malformed(detail(of: error))
        }
    }

    /// Returns the value of bytes that have been checked, or are a part of checked bytes.
    static func decode<Value: Decodable>(
        _ type: Value.Type,
        checked bytes: ArraySlice<UInt8>
    ) throws(Failure) -> Value {
        guard !JSONNames.haveTooManyMarks(in: bytes) else { throw .invalid(.tooManyMarks) }
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as FieldError {
            throw .invalid(error)
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
            throw .malformed(notJSON)
        } catch let error as DecodingError {
            throw .invalid(FieldError(error))
        } catch {
            throw .malformed(notJSON)
        }
    }

    private static func detail(of fault: JSONText.Fault) -> String {
        switch fault {
        case .empty: "The body is empty."
        case .notUTF8: "The body is not UTF-8."
        case .byteOrderMark: "The body begins with a byte order mark."
        case .misplacedElement: notJSON
        case .trailingComma: "The body has a comma before a closing bracket."
        case .tooDeep: "The body is nested more than \(JSONText.depthMax) deep."
        case .tooManyValues:
            """
            A task, or a body without tasks, has more than \(JSONText.valuesMax) values, where \
            each digit of a number after the first \(JSONText.digitsOfValue) in a row counts as one.
            """
        case .tooManyValuesInBatch:
            """
            The tasks have more than \(JSONText.batchValuesMax) values together. Divide them among \
            several requests, or give JSON and forms that are sent as `text`, which is one value.
            """
        case .controlByte: "The body holds a control character that JSON wants escaped."
        case .strayByte(let number):
            """
            Byte \(number) is one that JSON (RFC 8259) does not have outside strings: strings and \
            names are in double quotes, and there are no comments.
            """
        }
    }
}

extension FieldError {
    /// Returns the fault of a text of which only one of several members would count, found at
    /// `pointer`.
    static func repeatedName(at pointer: String) -> FieldError {
        // Elsewhere this service reads the members, and has a use for one alone.
        let isSent = ["/body/json/", "/upload/body/json/"].contains { "\(pointer)/".hasPrefix($0) }
        return FieldError(
            pointer: pointer,
            .invalidValue,
            "Must be there once: the object has another member of this name."
                + (isSent ? " To send both, give the JSON as `text`." : "")
        )
    }

    /// The fault of a text with a member whose name is not compared.
    static let tooManyMarks = FieldError(
        pointer: "",
        .invalidValue,
        """
        Holds an object with a member whose name has more than \(CombiningMarks.rowMax) combining \
        marks in a row. If a receiver wants it, give the JSON that is sent as `text`.
        """
    )
}

extension CodingUserInfoKey {
    /// Marks the decoding of an answer.
    static let answer = CodingUserInfoKey(rawValue: "dev.transferd.answer")
}
