"""Names that infra/template.yaml gives to functions. They are listed nowhere else in Python."""


def functions(template: dict) -> tuple[str, ...]:
    """The functions' names, which are their `Handler`s. The binary runs the function that this name selects."""
    resources = template["Resources"].values()
    return tuple(each["Properties"]["Handler"] for each in resources if each["Type"] == "AWS::Serverless::Function")
