"""One local checkpoint behind the API that OpenAI's clients speak."""
