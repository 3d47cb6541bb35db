import Testing

@testable import TransferWire

@Suite struct ProblemDetailsTests {
    @Test func typeIsMadeOfTheCode() {
        for code in ProblemDetails.Code.allCases {
            let problem = ProblemDetails(code, detail: nil, requestID: "r")
            #expect(problem.type == "https://transferd.dev/problems/\(code.rawValue)")
            #expect((400...599).contains(problem.status))
            #expect(problem.errors == nil)
        }
    }

    @Test func errorsAreBounded() {
        let errors = (0..<1000).map { FieldError(pointer: "/\($0)", .required, "Is required.") }
        let problem = ProblemDetails(
            .validationFailed,
            detail: nil,
            errors: errors,
            requestID: "r"
        )
        #expect(problem.errors?.count == ProblemDetails.errorsMax)
        #expect(problem.errors?.first?.pointer == "/0")
    }
}
