"""Kafka's messages, generated from kafka-clients 4.2.0."""
