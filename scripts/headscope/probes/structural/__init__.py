"""The structural probe (Hewitt & Manning 2019): a projection of hidden states in which distances are those of trees."""
