"""Writes korvet.kafka.messages from the message descriptions in the kafka-clients jar."""
